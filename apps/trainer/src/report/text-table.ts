import { terminalText } from '@agentlightning/trace';

/**
 * The lines of a text table. Cells are untrusted: line breaks and terminal control characters are removed.
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
