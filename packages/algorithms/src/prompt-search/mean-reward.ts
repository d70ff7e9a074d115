import type { TriedTask } from '@agentlightning/core/algorithm';

/** The mean of the recorded rewards; null without rewards. */
export function meanReward(tried: readonly TriedTask[]): number | null {
  return meanScore(tried.map(({ reward }) => reward));
}

/** The mean of the recorded scores; null without scores. */
export function meanScore(scores: readonly (number | null)[]): number | null {
  const known = scores.filter((score) => score !== null);
  return known.length === 0 ? null : known.reduce((sum, score) => sum + score, 0) / known.length;
}
