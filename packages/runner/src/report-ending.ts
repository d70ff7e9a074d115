import type { AgentLightningError, AttemptStatus } from '@agentlightning/core';
import { withRetry } from '@agentlightning/core/internal';
import { failureMetadata } from '@agentlightning/core/store';
import type { AttemptEnding } from './attempt-outcome.ts';
import type { AttemptRun } from './attempt-run.ts';
import { retryTransient } from './retry.ts';

/** Together with the waits in between, more than a minute of a store that cannot be reached. */
const maxTries = 20;

/** The status in the store of each ending that the runner decides. */
const statuses: Readonly<Partial<Record<AttemptEnding, AttemptStatus>>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  timeout: 'timeout',
};

/**
 * Tells the store how an attempt ended, and keeps trying while it cannot be reached. A failed attempt is tried
 * again if the rollout's configuration says so: that is the store's decision.
 */
export async function reportEnding<TTask>(
  run: AttemptRun<TTask>,
  ending: AttemptEnding,
  error: AgentLightningError | null,
): Promise<void> {
  const { rollout, options, services } = run;
  const { rolloutId, attempt } = rollout;
  const status = statuses[ending];
  const doing = `Reporting that attempt ${attempt.attemptId} of rollout ${rolloutId} ended (${ending})`;
  const metadata = error === null ? null : failureMetadata(attempt, error);
  const patch = { ...(status === undefined ? {} : { status }), ...(metadata === null ? {} : { metadata }) };
  const retry = retryTransient(services, { doing, maxTries });
  try {
    if (ending === 'returned') await withRetry(() => giveBack(run), retry);
    // A cancelled attempt was ended in the store already; nothing is to be added.
    else if (ending !== 'cancelled') {
      await withRetry(() => options.store.updateAttempt(rolloutId, attempt.attemptId, patch), retry);
    }
  } catch (failure) {
    services.failed(doing, failure);
  }
}

/** Puts the rollout back into the queue, unless it is over or in other hands. */
async function giveBack<TTask>({ rollout, options: { store } }: AttemptRun<TTask>): Promise<void> {
  const [{ status }, latest] = await Promise.all([
    store.getRollout(rollout.rolloutId),
    store.getLatestAttempt(rollout.rolloutId),
  ]);
  const isOurs = latest?.attemptId === rollout.attempt.attemptId;
  if (isOurs && (status === 'preparing' || status === 'running')) {
    await store.updateRollout(rollout.rolloutId, { status: 'requeuing' });
  }
}
