import type { RewardSubstitutes } from '../config/resolve-config.ts';
import { primaryReward } from '../trace/primary-reward.ts';
import type { FinishedRollout } from './finished-rollout.ts';

/**
 * The reward of a rollout for means; null excludes the rollout. Infrastructure failures are always excluded;
 * `failedReward` applies to failures of the agent only.
 */
export function rolloutReward(
  { failure, spans }: Pick<FinishedRollout, 'failure' | 'spans'>,
  substitutes: RewardSubstitutes,
): number | null {
  if (failure === null) return primaryReward(spans) ?? substitutes.missingReward;
  return failure === 'agent' ? substitutes.failedReward : null;
}
