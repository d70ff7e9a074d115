import { AgentLightningError } from '../../base/agent-lightning-error.ts';
import { rewardFromSpan } from '../../spans/reward-spans.ts';
import type { SpanInput } from '../../spans/span.ts';
import { isReservedAttribute } from '../../spans/span-attributes.ts';
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

/** What a span of an agent contains that an agent may not, or not always, record. */
export interface RestrictedContent {
  /** An attribute of model calls, which only the gateway records; null for none. */
  readonly reserved: string | null;
  /** Whether it is a reward: of an evaluator, or of an attempt that has ended, for others than the agent. */
  readonly isReward: boolean;
}

/** Finds what an agent may not, or not always, record: the rule for its token over HTTP, and for its worker process. */
export function restrictedContentOf(span: SpanInput): RestrictedContent {
  return {
    reserved: Object.keys(span.attributes).find(isReservedAttribute) ?? null,
    isReward: rewardFromSpan({ ...span, sequenceId: 0 }) !== null,
  };
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
