import { runMetrics } from '@agentlightning/core/metrics';
import { terminalText } from '@agentlightning/trace';

/** Quotes a word for a shell if necessary. */
export function shellQuote(text: string): string {
  return /^[\w@%+=:,./…-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Makes paths below the current directory relative. */
export function relativePath(place: string): string {
  return place.replaceAll(`${process.cwd()}/`, '');
}

/** A progress bar of block characters, `width` characters wide. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  const parts = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
  const filled = '█'.repeat(Math.floor(eighths / 8)) + (parts[eighths % 8] ?? '');
  return filled.padEnd(width, '░');
}

/** A fraction as a whole percentage: `0.25` is `25%`. */
export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

/** A readable duration: `45s`, `3m 05s`, `2h 10m`. */
export function shortDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}m ${String(whole % 60).padStart(2, '0')}s`;
  return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`;
}

/** A p-value as text. */
export function pValueText(pValue: number | null): string {
  if (pValue === null) return 'no p-value';
  return pValue < 1e-4 ? 'p < 0.0001' : `p = ${pValue.toFixed(4)}`;
}

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

/** The cost of the run so far, after two spaces: its currency is that of `run.prices`. Empty without known prices. */
export function costText(metrics: Readonly<Record<string, number>>): string {
  const cost = metrics[runMetrics.runCost.name];
  return cost === undefined ? '' : `  cost ${cost < 1 ? cost.toPrecision(2) : cost.toFixed(2)}`;
}
