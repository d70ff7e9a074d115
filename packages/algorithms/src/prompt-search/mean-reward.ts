import type { TriedTask } from '@agentlightning/core/algorithm';

/** The mean of the rewards that there are; null when there are none. */
export function meanReward(tried: readonly TriedTask[]): number | null {
  return meanScore(tried.map(({ reward }) => reward));
}

/** The mean of the scores that there are; null when there are none. */
export function meanScore(scores: readonly (number | null)[]): number | null {
  const known = scores.filter((score) => score !== null);
  return known.length === 0 ? null : known.reduce((sum, score) => sum + score, 0) / known.length;
}
