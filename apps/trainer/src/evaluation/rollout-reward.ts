import type { RewardSubstitutes } from '../config/resolve-config.ts';
import { primaryReward } from '../trace/primary-reward.ts';
import type { FinishedRollout } from './finished-rollout.ts';

/**
 * What a rollout counts in a mean; null excludes it. A failure of the infrastructure never counts, whatever the
 * configuration says of agents that fail.
 */
export function rolloutReward(
  { failure, spans }: Pick<FinishedRollout, 'failure' | 'spans'>,
  substitutes: RewardSubstitutes,
): number | null {
  if (failure === null) return primaryReward(spans) ?? substitutes.missingReward;
  return failure === 'agent' ? substitutes.failedReward : null;
}
