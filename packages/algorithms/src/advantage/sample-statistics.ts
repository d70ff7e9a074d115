/** The arithmetic mean; NaN for an empty list. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The sample standard deviation, with `n - 1` in the denominator; 0 for fewer than two values, and for equal ones. */
export function standardDeviation(values: readonly number[]): number {
  // Rounding of the mean would otherwise give equal values a tiny spread.
  if (values.every((value) => value === values[0])) return 0;
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}

/** The weighted mean, with weights of at least 0; the plain mean when all weights are 0. */
export function weightedMean(values: readonly number[], weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return mean(values);
  return values.reduce((sum, value, index) => sum + value * (weights[index] ?? 0), 0) / total;
}
