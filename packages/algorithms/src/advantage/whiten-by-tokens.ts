import { weightedMean } from './sample-statistics.ts';

/** Added to the variance before division by its root; the value of the reference implementations. */
export const whiteningEpsilon = 1e-8;

/** A value shared by all trained tokens of a rollout. */
export interface TiledValue {
  readonly value: number;
  readonly trainedTokens: number;
}

/**
 * Scales values to mean 0 and variance 1 over all trained tokens, counting each value once per token: `(x - μ) / sqrt(σ² +
 * 1e-8)` with the sample variance (`n - 1`, `n` tokens). With fewer than two tokens in total, every value counts once.
 *
 * @returns the function that whitens a value
 */
export function whiteningByTokens(tiled: readonly TiledValue[]): (value: number) => number {
  const values = tiled.map(({ value }) => value);
  const tokens = tiled.map(({ trainedTokens }) => trainedTokens);
  const isCounted = tokens.reduce((sum, count) => sum + count, 0) >= 2;
  const counts = isCounted ? tokens : values.map(() => 1);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const centre = weightedMean(values, counts);
  const squares = values.map((value) => (value - centre) ** 2);
  const variance = (weightedMean(squares, counts) * total) / (total - 1);
  const scale = 1 / Math.sqrt(variance + whiteningEpsilon);
  return (value) => (value - centre) * scale;
}
