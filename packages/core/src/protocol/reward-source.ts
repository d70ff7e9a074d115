import { type Attempt, isTerminalAttemptStatus } from '../attempt.ts';
import { AgentLightningError } from '../errors/agent-lightning-error.ts';
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

/**
 * The refusal of an agent's reward for an attempt that has ended; null while the attempt may still be rewarded. What a
 * finished attempt is judged by must not change.
 *
 * @param attempt - the attempt, as the store has it
 */
export function lateRewardRefusal(attempt: Pick<Attempt, 'attemptId' | 'status'>): AgentLightningError | null {
  if (!isTerminalAttemptStatus(attempt.status)) return null;
  return new AgentLightningError({
    code: 'ILLEGAL_TRANSITION',
    message: `Reward refused: attempt ${attempt.attemptId} is ${attempt.status}`,
    remedy: 'Record rewards before the attempt ends, or with a key of the scope runner.',
    details: { attemptId: attempt.attemptId, status: attempt.status },
  });
}
