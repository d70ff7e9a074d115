import { AgentLightningError } from '../../base/agent-lightning-error.ts';
import { type Attempt, isTerminalAttemptStatus } from '../../store/attempt.ts';
import type { Rollout } from '../../store/rollout.ts';

/**
 * Rollout metadata key for the source of its rewards. With the value `evaluator`, the agent's attempt token cannot
 * record rewards: an evaluator with a separate key does. Metadata, because clients of the Agent Lightning 0.3 protocol
 * can also set it.
 */
export const rewardSourceKey = 'agentlightning.reward_source';

/** Whether an evaluator, and not the agent, records the rollout's rewards. */
export function isRewardedByEvaluator({ metadata }: Pick<Rollout, 'metadata'>): boolean {
  return metadata?.[rewardSourceKey] === 'evaluator';
}

/**
 * Error for an agent's reward after the end of its attempt; null while the attempt is open. The outcome of a finished
 * attempt must not change.
 *
 * @param attempt - the stored attempt
 */
export function lateRewardRefusal(attempt: Pick<Attempt, 'attemptId' | 'status'>): AgentLightningError | null {
  if (!isTerminalAttemptStatus(attempt.status)) return null;
  return new AgentLightningError({
    code: 'ILLEGAL_TRANSITION',
    message: `Reward refused: attempt ${attempt.attemptId} is ${attempt.status}`,
    remedy: 'Record rewards before the attempt ends, or with a key of the role worker.',
    details: { attemptId: attempt.attemptId, status: attempt.status },
  });
}
