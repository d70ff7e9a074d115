import type { Rollout } from '../rollout.ts';

/**
 * The name in a rollout's metadata that says where its rewards come from. With the value `evaluator`, an agent's own
 * token records none: the rollout is judged by somebody with a key of its own. Metadata, because those who speak the
 * protocol of Agent Lightning 0.3 can set it too.
 */
export const rewardSourceKey = 'agentlightning.reward_source';

/** Whether a rollout's rewards come from an evaluator, and not from its agent. */
export function isRewardedByEvaluator({ metadata }: Pick<Rollout, 'metadata'>): boolean {
  return metadata?.[rewardSourceKey] === 'evaluator';
}
