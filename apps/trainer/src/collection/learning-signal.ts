import type { FinishedRollout } from '../evaluation/finished-rollout.ts';
import { primaryRewards } from '../trace/primary-reward.ts';

/** Whether two rollouts of a group have different rewards: otherwise comparing them has no result. */
export function hasLearningSignal(rollouts: readonly FinishedRollout[]): boolean {
  return new Set(primaryRewards(rollouts)).size > 1;
}
