import {
  AgentLightningError,
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
  /** Told how many of the rollouts are finished, at the start and whenever the number changes. */
  readonly onProgress: (finished: number, total: number) => void;
  /** Ends the wait when the run is stopped, or when something the rollouts depend on is gone. */
  readonly signal: AbortSignal;
  /** Whether rollouts that failed stay so: what was measured is not measured again. @default false */
  readonly keepFailed?: boolean;
}

/**
 * Enqueues rollouts and waits until each has ended.
 *
 * Rollouts that are known already, from before a crash, are not run again when they succeeded; those that were cut
 * off, and those that failed, get another attempt, unless those are to stay as they are.
 *
 * @throws the signal's reason
 */
export async function collectRollouts(
  requests: readonly EnqueueRolloutRequest[],
  options: CollectOptions,
): Promise<readonly CollectedRollout[]> {
  const { store, keepFailed = false } = options;
  const enqueued: Rollout[] = [];
  for (const [index, known] of (await store.enqueueRollouts(requests)).entries()) {
    const stays = keepFailed && known.status === 'failed';
    enqueued.push(stays ? known : await reopened(store, known, requests[index]?.resourcesId ?? null));
  }
  const finished = await waitForAll(enqueued, options);
  const byId = new Map(finished.map((rollout) => [rollout.rolloutId, rollout]));
  const collected: CollectedRollout[] = [];
  for (const { rolloutId } of enqueued) {
    const rollout = byId.get(rolloutId);
    if (rollout !== undefined) collected.push(await withSpans(store, rollout));
  }
  return collected;
}

/**
 * Takes everything out of the queue that an interrupted trainer left in it. What is still wanted comes back when it is
 * collected; what is not, such as a step that the configuration no longer has, must not be run with other weights.
 *
 * @returns how many there were
 */
export async function dropUnfinished(store: Store, runId: string): Promise<number> {
  const { items } = await store.queryRollouts({ runId, statusIn: ['queuing', 'requeuing', 'preparing', 'running'] });
  let dropped = 0;
  for (const { rolloutId, status } of items) {
    try {
      // By way of the queue: an attempt that was cut off costs the rollout none of its tries.
      if (status === 'preparing' || status === 'running') await store.updateRollout(rolloutId, { status: 'requeuing' });
      await store.updateRollout(rolloutId, { status: 'cancelled' });
      dropped += 1;
    } catch (error) {
      // A runner elsewhere works on meanwhile: what it has ended since stays as it is.
      if (!AgentLightningError.isInstance(error) || error.code !== 'ILLEGAL_TRANSITION') throw error;
    }
  }
  return dropped;
}

/** The step's group that a rollout was begun in: a task and, of one that comes round again, which time. */
function groupIdOf({ rolloutId, metadata }: Rollout): string {
  return String(metadata?.['group_id'] ?? rolloutId);
}

/** Rollouts by the group they were begun in, or by another id of one, in the order they came. */
export function groupRollouts(
  rollouts: readonly CollectedRollout[],
  idOf: (rollout: Rollout) => string = groupIdOf,
): readonly CollectedGroup[] {
  const groups = new Map<string, CollectedRollout[]>();
  for (const collected of rollouts) {
    const groupId = idOf(collected.rollout);
    const group = groups.get(groupId);
    if (group === undefined) groups.set(groupId, [collected]);
    else group.push(collected);
  }
  return [...groups].map(([groupId, members]) => ({ groupId, rollouts: members }));
}

/** A rollout that ended badly in an earlier life of the run goes back to the queue, at the gateway's present address. */
async function reopened(store: Store, known: Rollout, resourcesId: string | null): Promise<Rollout> {
  if (known.status !== 'failed' && known.status !== 'cancelled') return known;
  return await store.updateRollout(known.rolloutId, { status: 'requeuing', resourcesId });
}

async function waitForAll(enqueued: readonly Rollout[], options: CollectOptions): Promise<readonly Rollout[]> {
  const { store, signal, onProgress } = options;
  const done = new Map<string, Rollout>();
  for (const rollout of enqueued) if (isTerminalRolloutStatus(rollout.status)) done.set(rollout.rolloutId, rollout);
  onProgress(done.size, enqueued.length);
  while (done.size < enqueued.length) {
    const open = enqueued.filter(({ rolloutId }) => !done.has(rolloutId)).map(({ rolloutId }) => rolloutId);
    const ended = await store.waitForRollouts(open, { timeoutMs: progressIntervalMs, signal });
    signal.throwIfAborted();
    for (const rollout of ended) done.set(rollout.rolloutId, rollout);
    if (ended.length > 0) onProgress(done.size, enqueued.length);
  }
  return [...done.values()];
}

/** How often progress is shown while rollouts run, in milliseconds. */
const progressIntervalMs = 200;

/** A rollout with what was recorded in its latest attempt. */
export async function withSpans(store: Store, rollout: Rollout): Promise<CollectedRollout> {
  const attempt = await store.getLatestAttempt(rollout.rolloutId);
  if (attempt === null) return { rollout, attemptId: null, spans: [] };
  const { items } = await store.querySpans({ rolloutId: rollout.rolloutId, attemptId: attempt.attemptId });
  return { rollout, attemptId: attempt.attemptId, spans: items };
}
