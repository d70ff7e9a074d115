/** The median; of an even number of values, the mean of the middle two. NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = ascending(values);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[sorted.length / 2 - 1] ?? Number.NaN)) / 2;
}

/** The medians of the lower and of the upper half of the values. */
export function quartiles(values: readonly number[]): readonly [lower: number, upper: number] {
  const sorted = ascending(values);
  const half = Math.floor(sorted.length / 2);
  return [median(sorted.slice(0, half)), median(sorted.slice(-half))];
}

/** The nearest-rank quantile, such as 0.99 for p99. NaN for no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = ascending(values);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function ascending(values: readonly number[]): number[] {
  return values.toSorted((left, right) => left - right);
}
