import type { FinishedRollout } from '../evaluation/finished-rollout.ts';
import { primaryReward } from '../trace/primary-reward.ts';

/** Whether two rollouts of a group have different rewards: otherwise comparing them has no result. */
export function hasLearningSignal(rollouts: readonly FinishedRollout[]): boolean {
  const rewards = rollouts.flatMap(({ failure, spans }) => (failure === null ? (primaryReward(spans) ?? []) : []));
  return new Set(rewards).size > 1;
}
