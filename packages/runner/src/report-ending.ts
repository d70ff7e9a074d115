import type { AgentLightningError, AttemptStatus } from '@agentlightning/core';
import { withRetry } from '@agentlightning/core/internal';
import { failureMetadata } from '@agentlightning/core/protocol';
import type { AttemptedRollout } from '@agentlightning/core/store';
import type { AttemptEnding } from './attempt-outcome.ts';
import type { AttemptInput } from './runner-services.ts';
import type { RunnerStore } from './runner-store.ts';
import { storeRetryPolicy } from './store-retry-policy.ts';

/** With the backoff delays, more than a minute without a reachable store. */
const maxTries = 20;

/** The status for each ending that the runner decides. */
const statuses: Readonly<Partial<Record<AttemptEnding, AttemptStatus>>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  timeout: 'timeout',
};

/**
 * Reports the end of an attempt to the store, with retries while it cannot be reached. The store decides whether the
 * rollout gets another attempt.
 */
export async function reportEnding<TTask>(
  input: AttemptInput<TTask>,
  ending: AttemptEnding,
  error: AgentLightningError | null,
): Promise<void> {
  const { rollout, options, services } = input;
  const { rolloutId, attempt } = rollout;
  const status = statuses[ending];
  const doing = `Reporting the end of attempt ${attempt.attemptId} of rollout ${rolloutId} (${ending})`;
  const metadata = error === null ? null : failureMetadata(attempt, error);
  const patch = { ...(status === undefined ? {} : { status }), ...(metadata === null ? {} : { metadata }) };
  const retry = storeRetryPolicy(services, { doing, maxTries });
  try {
    if (ending === 'returned') await withRetry(() => returnToQueue(options.store, rollout), retry);
    // The store has already ended a cancelled attempt.
    else if (ending !== 'cancelled') {
      await withRetry(() => options.store.updateAttempt(rolloutId, attempt.attemptId, patch), retry);
    }
  } catch (failure) {
    services.failed(doing, failure);
  }
}

/** Returns the rollout to the queue without counting its attempt, unless it is finished or has a newer attempt. */
export async function returnToQueue(store: RunnerStore, rollout: AttemptedRollout): Promise<void> {
  const [{ status }, latest] = await Promise.all([
    store.getRollout(rollout.rolloutId),
    store.getLatestAttempt(rollout.rolloutId),
  ]);
  const isLatest = latest?.attemptId === rollout.attempt.attemptId;
  if (isLatest && (status === 'preparing' || status === 'running')) {
    await store.updateRollout(rollout.rolloutId, { status: 'requeuing' });
  }
}
