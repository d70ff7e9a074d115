import type { CollectedRollout } from '@agentlightning/core';
import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import { hasUnansweredCall } from '../loop/all-failed.ts';
import { primaryReward } from '../trace/primary-reward.ts';

/**
 * What a rollout counts in a search; null when it is left out. A rollout that failed because the model was not there says
 * nothing of the prompts, whatever the configuration says of agents that fail.
 */
export function rewardOfTrial(
  collected: CollectedRollout,
  settings: Pick<ResolvedPromptSearch, 'failedReward' | 'missingReward'>,
): number | null {
  const { rollout, spans } = collected;
  if (rollout.status === 'succeeded') return primaryReward(spans) ?? settings.missingReward;
  return rollout.status === 'cancelled' || hasUnansweredCall(collected) ? null : settings.failedReward;
}
