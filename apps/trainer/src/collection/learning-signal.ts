import type { FinishedRollout } from '../evaluation/finished-rollout.ts';
import { primaryReward } from '../trace/primary-reward.ts';

/** Whether two rollouts of a group have different rewards: otherwise comparing them has no result. */
export function hasLearningSignal(rollouts: readonly FinishedRollout[]): boolean {
  return new Set(rewardsOf(rollouts)).size > 1;
}

/** The mean reward of rollouts, as a metric; none without a reward. */
export function meanReward(rollouts: readonly FinishedRollout[]): Readonly<Record<string, number>> {
  const rewards = rewardsOf(rollouts);
  if (rewards.length === 0) return {};
  return { 'collection/reward_mean': rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length };
}

function rewardsOf(rollouts: readonly FinishedRollout[]): readonly number[] {
  return rollouts.flatMap(({ failure, spans }) => (failure === null ? (primaryReward(spans) ?? []) : []));
}
