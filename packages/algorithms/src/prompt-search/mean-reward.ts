import type { TriedTask } from './prompt-search.ts';

/** The mean of the rewards that there are; null when there are none. */
export function meanReward(tried: readonly TriedTask[]): number | null {
  const rewards = tried.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  return rewards.length === 0 ? null : rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}

/** How many of the tasks were judged. */
export function judgedTasks(tried: readonly TriedTask[]): number {
  return tried.filter(({ reward }) => reward !== null).length;
}
