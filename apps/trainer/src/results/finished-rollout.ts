import type { ErrorCode, Rollout, Span, Store } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { attemptFailureOrigin, type FailureOrigin, type RolloutTrace } from '@agentlightning/core/store';
import pMap from 'p-map';
import { attemptFailureCause, type FailureCause, lastCall } from './failure-cause.ts';

/** A rollout that has ended, with the spans of its latest attempt. */
export interface FinishedRollout extends CollectedRollout {
  /** The origin of the failure; null when the rollout succeeded. */
  readonly failure: FailureOrigin | 'cancelled' | null;
  /** The cause of the failure; null when the rollout succeeded, or was cancelled, or has no attempt. */
  readonly failureCause: FailureCause | null;
}

/** Number of rollouts per request: about as many as fit in a response. */
const batchSize = 64;

/** Number of concurrent requests; most of their duration is the round trip to the store. */
const readConcurrency = 8;

/** Reads the spans of the latest attempts of rollouts, and the origins of their failures, in the same order. */
export async function readFinishedRollouts(
  store: Store,
  rollouts: readonly Rollout[],
): Promise<readonly FinishedRollout[]> {
  const starts = Array.from({ length: Math.ceil(rollouts.length / batchSize) }, (_, index) => index * batchSize);
  const batches = starts.map((start) => rollouts.slice(start, start + batchSize));
  return (await pMap(batches, (batch) => readBatch(store, batch), { concurrency: readConcurrency })).flat();
}

async function readBatch(store: Store, batch: readonly Rollout[]): Promise<readonly FinishedRollout[]> {
  const finished: FinishedRollout[] = [];
  while (finished.length < batch.length) {
    const rest = batch.slice(finished.length);
    const traces = await store.readTraces(rest.map(({ rolloutId }) => rolloutId));
    for (const [index, trace] of traces.entries()) {
      const rollout = rest[index];
      if (rollout !== undefined) finished.push(finishedRollout(rollout, trace));
    }
  }
  return finished;
}

function finishedRollout(rollout: Rollout, { attempt, spans }: RolloutTrace): FinishedRollout {
  const { status } = rollout;
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
