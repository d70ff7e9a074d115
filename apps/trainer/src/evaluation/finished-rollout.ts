import type { ErrorCode, Rollout, Span, Store } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { attemptFailureOrigin, type FailureOrigin } from '@agentlightning/core/store';
import { attemptFailureCause, type FailureCause, lastCall } from '../rollouts/failure-cause.ts';

/** A rollout that has ended, with the spans of its latest attempt. */
export interface FinishedRollout extends CollectedRollout {
  /** The origin of the failure; null when the rollout succeeded. */
  readonly failure: FailureOrigin | 'cancelled' | null;
  /** The cause of the failure; null when the rollout succeeded, or was cancelled, or has no attempt. */
  readonly failureCause: FailureCause | null;
}

/** Reads the spans of a rollout's latest attempt, and the origin of its failure. */
export async function readFinishedRollout(store: Store, rollout: Rollout): Promise<FinishedRollout> {
  const { rolloutId, status } = rollout;
  const [attempt, { items: spans }] = await Promise.all([
    store.getLatestAttempt(rolloutId),
    store.querySpans({ rolloutId, attemptId: 'latest' }),
  ]);
  if (attempt === null) {
    return { rollout, attemptId: null, spans: [], failure: status === 'failed' ? 'agent' : null, failureCause: null };
  }
  const { attemptId } = attempt;
  const collected = { rollout, attemptId, spans, failureCause: null };
  // The reward of an agent that hid the failure of its last model call says nothing about the agent.
  if (status === 'succeeded' && !isFailedCall(lastCall(spans))) return { ...collected, failure: null };
  if (status === 'cancelled') return { ...collected, failure: 'cancelled' };
  const isLost = attemptFailureOrigin(attempt) === 'infrastructure' || hasFailedCall(collected);
  return {
    ...collected,
    failure: isLost ? 'infrastructure' : 'agent',
    failureCause: attemptFailureCause(attempt, spans),
  };
}

/** The gateway's error codes for an upstream that failed, for one that did not respond in time, and for a closing gateway. */
const failedCallCodes: readonly ErrorCode[] = ['UPSTREAM_FAILED', 'TIMEOUT', 'UNREACHABLE'];

/** Whether the gateway recorded that a model endpoint did not respond to a call of the rollout. */
function hasFailedCall({ spans }: CollectedRollout): boolean {
  return spans.some(isFailedCall);
}

function isFailedCall(span: Span | null): boolean {
  const reason = (span === null ? null : modelCallFromSpan(span))?.untrainableReason ?? '';
  return failedCallCodes.some((code) => reason.startsWith(`[${code}]`));
}
