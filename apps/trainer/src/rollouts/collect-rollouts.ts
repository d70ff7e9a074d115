import { AgentLightningError, type Rollout, type Store } from '@agentlightning/core';
import type { CollectedGroup, CollectedRollout } from '@agentlightning/core/algorithm';
import { backoffMs, systemClock } from '@agentlightning/core/internal';
import { type EnqueueRolloutRequest, isTerminalRolloutStatus } from '@agentlightning/core/store';
import { type FinishedRollout, readFinishedRollout } from '../evaluation/finished-rollout.ts';

/** What collecting needs besides the rollouts. */
export interface CollectOptions {
  readonly store: Store;
  /** Called with the number of finished rollouts, at the start and whenever it changes. */
  readonly onProgress: (finished: number, total: number) => void;
  /** Ends the wait when the run is stopped, or when something the rollouts depend on is gone. */
  readonly signal: AbortSignal;
  /** Resolves when the services that rollouts depend on respond; rejects when their outage lasts too long. */
  readonly assertHealthy: () => Promise<void>;
}

/** How often a rollout that the infrastructure failed is run again. */
const maxRetries = 3;

const retryBackoff = { baseDelayMs: 100, maxDelayMs: 5000 };

/**
 * Enqueues rollouts and waits until each has ended. Rollouts that the infrastructure failed are run again.
 *
 * Rollouts that exist already, from before a crash, are kept when they succeeded or their agents failed: the outcome of a
 * resumed run is that of an uninterrupted one. Only when the agents of all have failed are all run again, because that
 * is what ended the run.
 *
 * @throws the signal's reason
 */
export async function collectRollouts(
  requests: readonly EnqueueRolloutRequest[],
  options: CollectOptions,
): Promise<readonly FinishedRollout[]> {
  const { store, onProgress, signal } = options;
  const enqueued = await reopenLost(store, requests, await store.enqueueRollouts(requests));
  const finished = new Map<string, FinishedRollout>();
  const collect = async (rollouts: readonly Rollout[]): Promise<void> => {
    const report = (ended: number): void => onProgress(enqueued.length - rollouts.length + ended, enqueued.length);
    for (const rollout of await waitForAll(rollouts, { store, signal, onProgress: report })) {
      finished.set(rollout.rolloutId, await readFinishedRollout(store, rollout));
    }
  };
  await collect(enqueued);
  for (let retry = 1; retry <= maxRetries && hasLost(finished); retry += 1) {
    await options.assertHealthy();
    // Services that respond, and fail every rollout twice, do not recover by themselves.
    if (retry > 1 && [...finished.values()].every(({ failure }) => failure === 'infrastructure')) break;
    await systemClock.sleep(backoffMs(retryBackoff, retry), signal);
    await collect(await requeueLost(store, finished));
  }
  return enqueued.map(({ rolloutId }) => finished.get(rolloutId)).filter((rollout) => rollout !== undefined);
}

function hasLost(finished: ReadonlyMap<string, FinishedRollout>): boolean {
  return [...finished.values()].some(({ failure }) => failure === 'infrastructure');
}

/** Puts the rollouts that the infrastructure failed back into the queue. */
async function requeueLost(store: Store, finished: Map<string, FinishedRollout>): Promise<readonly Rollout[]> {
  const requeued: Rollout[] = [];
  for (const { rollout, failure } of [...finished.values()]) {
    if (failure !== 'infrastructure') continue;
    // Read again: a runner that was slow to report may have done so since.
    const latest = await readFinishedRollout(store, rollout);
    finished.set(rollout.rolloutId, latest);
    if (latest.failure !== 'infrastructure') continue;
    requeued.push(await store.updateRollout(rollout.rolloutId, { status: 'requeuing' }));
  }
  return requeued;
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

/** Puts rollouts of an earlier process that have no outcome back into the queue, with the gateway's present address. */
async function reopenLost(
  store: Store,
  requests: readonly EnqueueRolloutRequest[],
  known: readonly Rollout[],
): Promise<readonly Rollout[]> {
  const haveAllFailed = known.every(({ status }) => status === 'failed');
  const resourcesIds = new Map(requests.map(({ rolloutId, resourcesId }) => [rolloutId, resourcesId ?? null]));
  const isLost = async (rollout: Rollout): Promise<boolean> => {
    if (rollout.status === 'cancelled') return true;
    if (rollout.status !== 'failed') return false;
    return haveAllFailed || (await readFinishedRollout(store, rollout)).failure === 'infrastructure';
  };
  const reopened: Rollout[] = [];
  for (const rollout of known) {
    const { rolloutId } = rollout;
    const resourcesId = resourcesIds.get(rolloutId) ?? null;
    const next = (await isLost(rollout))
      ? await store.updateRollout(rolloutId, { status: 'requeuing', resourcesId })
      : rollout;
    reopened.push(next);
  }
  return reopened;
}

async function waitForAll(
  enqueued: readonly Rollout[],
  options: Pick<CollectOptions, 'store' | 'signal' | 'onProgress'>,
): Promise<readonly Rollout[]> {
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
