import type { MeanComparison, MeanInterval } from '@agentlightning/algorithms';

/** A table; all columns after the first have numbers. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

/** A number with two digits after the point. */
export function decimal(value: number, digits = 2): string {
  return value.toFixed(digits).replace('-', '−');
}

/** A mean with its interval. */
export function interval({ mean, low, high }: MeanInterval): string {
  return `${decimal(mean)} (${decimal(low)} to ${decimal(high)})`;
}

/** A difference with its interval and p-value. */
export function difference({ difference: value, low, high, pValue }: MeanComparison): string {
  return `${value < 0 ? '' : '+'}${decimal(value)} (${decimal(low)} to ${decimal(high)}), p ${probability(pValue)}`;
}

function probability(value: number): string {
  return value < 0.001 ? '< 0.001' : `= ${value.toFixed(3)}`;
}
