import { finalReward } from '@agentlightning/algorithms/internal';
import type { RewardDefinition } from '../config/reward-definition.ts';
import { mean } from '../events/mean.ts';
import type { FinishedRollout } from './finished-rollout.ts';

/**
 * The reward of a rollout; null excludes the rollout. Infrastructure failures are always excluded; `reward.failed` applies to
 * failures of the agent only.
 */
export function rolloutReward(
  { failure, spans }: Pick<FinishedRollout, 'failure' | 'spans'>,
  { choice, failedReward, missingReward }: RewardDefinition,
): number | null {
  if (failure === null) return finalReward(spans, choice) ?? missingReward;
  return failure === 'agent' ? failedReward : null;
}

/** The mean reward of rollouts; null when none has one. */
export function meanReward(rollouts: readonly FinishedRollout[], definition: RewardDefinition): number | null {
  return mean(rollouts.flatMap((rollout) => rolloutReward(rollout, definition) ?? []));
}

/** Whether two rollouts of a group have different rewards: otherwise comparing them has no result. */
export function hasLearningSignal(rollouts: readonly FinishedRollout[], reward: RewardDefinition): boolean {
  return new Set(rollouts.flatMap((rollout) => rolloutReward(rollout, reward) ?? [])).size > 1;
}
