import { comparePairs } from '@agentlightning/algorithms';
import type { MeasuredRewards } from './stored-evaluation.ts';

/** Whether an agent improved between two evaluations. */
export interface Verdict {
  /** Paired t-test, 5 % two-sided; null when too many rewards are missing to decide. */
  readonly isImproved: boolean | null;
  /** The probability of a difference at least as large by chance; null when there is no pair of rewards. */
  readonly pValue: number | null;
  /** The share of tasks without a reward before or after, from 0 to 1. */
  readonly missingShare: number;
}

/**
 * Compares two evaluations task by task, over the tasks with a reward in both. There is no verdict when the share of the
 * other tasks is above `maxMissingShare`: which tasks are missing may depend on how well they went.
 */
export function judgeImprovement(
  before: Pick<MeasuredRewards, 'rewards'>,
  after: Pick<MeasuredRewards, 'rewards'>,
  maxMissingShare: number,
): Verdict {
  const count = Math.max(before.rewards.length, after.rewards.length);
  const pairs = before.rewards.flatMap((reward, index) => {
    const later = after.rewards[index] ?? null;
    return reward === null || later === null ? [] : [[reward, later] as const];
  });
  const missingShare = count === 0 ? 1 : (count - pairs.length) / count;
  if (pairs.length === 0) return { isImproved: null, pValue: null, missingShare };
  const { difference, pValue } = comparePairs(
    pairs.map(([reward]) => reward),
    pairs.map(([, later]) => later),
  );
  const isDecided = missingShare <= maxMissingShare;
  return { isImproved: isDecided ? difference > 0 && pValue < 0.05 : null, pValue, missingShare };
}
