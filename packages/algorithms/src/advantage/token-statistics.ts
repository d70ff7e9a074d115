import type { EstimatedRow } from './estimate-by-value.ts';

/** Means and sample variances (`n - 1`) over the trained tokens; 0 with too few tokens. */
export interface TokenStatistics {
  readonly tokens: number;
  readonly meanAdvantage: number;
  readonly advantageVariance: number;
  readonly meanValue: number;
  /** Mean of the value targets, `A + V`. */
  readonly meanTarget: number;
  readonly targetVariance: number;
}

/** Two passes over the tokens without an allocation per token: a step may have millions. */
export function tokenStatistics(rows: readonly EstimatedRow[]): TokenStatistics {
  const sums = { tokens: 0, advantage: 0, value: 0 };
  forEachToken(rows, (advantage, value) => {
    sums.tokens += 1;
    sums.advantage += advantage;
    sums.value += value;
  });
  const { tokens } = sums;
  const meanOf = (sum: number): number => (tokens === 0 ? 0 : sum / tokens);
  const meanAdvantage = meanOf(sums.advantage);
  const meanTarget = meanOf(sums.advantage + sums.value);
  const squares = { advantage: 0, target: 0 };
  forEachToken(rows, (advantage, value) => {
    squares.advantage += (advantage - meanAdvantage) ** 2;
    squares.target += (advantage + value - meanTarget) ** 2;
  });
  const varianceOf = (sum: number): number => (tokens < 2 ? 0 : sum / (tokens - 1));
  return {
    tokens,
    meanAdvantage,
    advantageVariance: varianceOf(squares.advantage),
    meanValue: meanOf(sums.value),
    meanTarget,
    targetVariance: varianceOf(squares.target),
  };
}

function forEachToken(rows: readonly EstimatedRow[], visit: (advantage: number, value: number) => void): void {
  for (const { advantages, values, isTrained } of rows) {
    for (let token = 0; token < advantages.length; token += 1)
      if (isTrained[token] === 1) visit(advantages[token] ?? 0, values[token] ?? 0);
  }
}
