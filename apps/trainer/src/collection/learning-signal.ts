import type { RewardDefinition } from '../config/reward-definition.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { rolloutReward } from '../results/rollout-reward.ts';

/** Whether two rollouts of a group have different rewards: otherwise comparing them has no result. */
export function hasLearningSignal(rollouts: readonly FinishedRollout[], reward: RewardDefinition): boolean {
  return new Set(rollouts.flatMap((rollout) => rolloutReward(rollout, reward) ?? [])).size > 1;
}
