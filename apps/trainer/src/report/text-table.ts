import { terminalText } from '@agentlightning/trace';

/**
 * Lines of a table for people: columns as wide as what is in them. What is in them comes from anywhere, and neither breaks
 * a line nor commands the terminal.
 */
export function textTable(header: readonly string[], cells: readonly (readonly string[])[]): string[] {
  const rows = cells.map((row) => row.map((cell) => terminalText(cell.replace(/[\r\n\t]+/g, ' '))));
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [header, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
