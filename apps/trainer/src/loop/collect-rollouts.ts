import {
  type AgentLightningError,
  type CollectedGroup,
  type CollectedRollout,
  type EnqueueRolloutRequest,
  isTerminalRolloutStatus,
  type Rollout,
  type Store,
} from '@agentlightning/core';

/** What collecting needs besides the rollouts. */
export interface CollectOptions {
  readonly store: Store;
  /** Told how many of the rollouts are finished, whenever the number changes. */
  readonly onProgress: (finished: number, total: number) => void;
  /** Rejects when something the rollouts depend on is gone, so that nobody waits for ever. */
  readonly failure: Promise<AgentLightningError>;
  readonly signal: AbortSignal;
}

/**
 * Enqueues rollouts and waits until each has ended.
 *
 * Rollouts that are known already, from before a crash, are not run again: finished ones are taken as
 * they are, those a dead runner held go back to the queue, and failed ones get another attempt.
 */
export async function collectRollouts(
  requests: readonly EnqueueRolloutRequest[],
  options: CollectOptions,
): Promise<readonly CollectedRollout[]> {
  const { store } = options;
  const enqueued = await store.enqueueRollouts(requests);
  const finished = await waitForAll(enqueued, options);
  const byId = new Map(finished.map((rollout) => [rollout.rolloutId, rollout]));
  const collected: CollectedRollout[] = [];
  for (const { rolloutId } of enqueued) {
    const rollout = byId.get(rolloutId);
    if (rollout !== undefined) collected.push(await withSpans(store, rollout));
  }
  return collected;
}

/** Puts the unfinished and failed rollouts of an interrupted step back into the queue. */
export async function requeueInterrupted(store: Store, runId: string, phase: string): Promise<number> {
  const { items } = await store.queryRollouts({
    runId,
    metadata: { phase },
    statusIn: ['preparing', 'running', 'failed', 'cancelled'],
  });
  for (const { rolloutId } of items) await store.updateRollout(rolloutId, { status: 'requeuing' });
  return items.length;
}

/** Rollouts by the task they are about, in the order they came. */
export function groupRollouts(rollouts: readonly CollectedRollout[]): readonly CollectedGroup[] {
  const groups = new Map<string, CollectedRollout[]>();
  for (const collected of rollouts) {
    const groupId = String(collected.rollout.metadata?.['group_id'] ?? collected.rollout.rolloutId);
    const group = groups.get(groupId);
    if (group === undefined) groups.set(groupId, [collected]);
    else group.push(collected);
  }
  return [...groups].map(([groupId, members]) => ({ groupId, rollouts: members }));
}

async function waitForAll(enqueued: readonly Rollout[], options: CollectOptions): Promise<readonly Rollout[]> {
  const { store, signal, onProgress } = options;
  const done = new Map<string, Rollout>();
  for (const rollout of enqueued) if (isTerminalRolloutStatus(rollout.status)) done.set(rollout.rolloutId, rollout);
  const failed = options.failure.then((error) => {
    throw error;
  });
  failed.catch(() => undefined);
  while (done.size < enqueued.length) {
    onProgress(done.size, enqueued.length);
    signal.throwIfAborted();
    const open = enqueued.filter(({ rolloutId }) => !done.has(rolloutId)).map(({ rolloutId }) => rolloutId);
    const wait = AbortSignal.any([signal, AbortSignal.timeout(progressIntervalMs)]);
    const ended = await Promise.race([store.waitForRollouts(open, { signal: wait }), failed]);
    for (const rollout of ended) done.set(rollout.rolloutId, rollout);
  }
  onProgress(done.size, enqueued.length);
  return [...done.values()];
}

/** How often progress is shown while rollouts run, in milliseconds. */
const progressIntervalMs = 200;

async function withSpans(store: Store, rollout: Rollout): Promise<CollectedRollout> {
  const attempt = await store.getLatestAttempt(rollout.rolloutId);
  if (attempt === null) return { rollout, attemptId: null, spans: [] };
  const { items } = await store.querySpans({ rolloutId: rollout.rolloutId, attemptId: attempt.attemptId });
  return { rollout, attemptId: attempt.attemptId, spans: items };
}
