import { AgentLightningError, type Rollout, type Store } from '@agentlightning/core';
import type { CollectedGroup, CollectedRollout } from '@agentlightning/core/algorithm';
import { backoffMs, systemClock } from '@agentlightning/core/internal';
import { type EnqueueRolloutRequest, isTerminalRolloutStatus, type RolloutQuery } from '@agentlightning/core/store';
import type { OutputScoring } from '@agentlightning/runner';
import pMap from 'p-map';
import { type FinishedRollout, readFinishedRollouts } from '../results/finished-rollout.ts';
import { scoreGroups } from './score-groups.ts';

/** The dependencies of collecting rollouts. */
export interface CollectOptions {
  readonly store: Store;
  /** Called with the number of finished rollouts, at the start and whenever it changes. */
  readonly onProgress: (finished: number, total: number) => void;
  /** Aborts when the run is stopped, or when a dependency of the rollouts fails. */
  readonly signal: AbortSignal;
  /** Resolves when the services that rollouts depend on respond; rejects when their outage lasts too long. */
  readonly assertHealthy: () => Promise<void>;
  /**
   * Maximum wait of a request for finished rollouts, in milliseconds. Progress is reported after each. With more than 200
   * rollouts, 1 ms for each: every request reads all of them. @default 200
   */
  readonly waitMs?: number;
  /** Scores complete groups; null where agents return their reward. */
  readonly scoring: OutputScoring | null;
  /** Receives what went wrong in scoring, once for each cause. */
  readonly warn: (message: string) => void;
}

/** Number of concurrent rollout updates; most of the duration is the round trip to the store. */
const changeConcurrency = 64;

/** The store's cost of a request is proportional to the number of rollouts. */
const waitMsPerRollout = 1;

/** Maximum number of rollouts of one wait: a server bounds its requests. */
const maxWaited = 10_000;

/** Retries of a rollout that failed by infrastructure. */
const maxRetries = 3;

const retryBackoff = { baseDelayMs: 100, maxDelayMs: 5000 };

/**
 * Enqueues rollouts and waits until each has ended, and scores their groups. Rollouts that failed by infrastructure are retried.
 *
 * Rollouts of an earlier process are kept when they succeeded or their agents failed: a resumed run has the result of an
 * uninterrupted one. When the agents of all rollouts failed, which ended the run, all are retried.
 *
 * @throws the reason of the signal
 */
export async function collectRollouts(
  requests: readonly EnqueueRolloutRequest[],
  options: CollectOptions,
): Promise<readonly FinishedRollout[]> {
  const { store, onProgress, signal, waitMs = 200 } = options;
  const enqueued = await reopenLost(store, requests, await store.enqueueRollouts(requests));
  const finished = new Map<string, FinishedRollout>();
  const collect = async (rollouts: readonly Rollout[]): Promise<void> => {
    const report = (ended: number): void => onProgress(enqueued.length - rollouts.length + ended, enqueued.length);
    const ended = await waitForAll(rollouts, { store, signal, waitMs, onProgress: report });
    for (const each of await readFinishedRollouts(store, ended)) finished.set(each.rollout.rolloutId, each);
  };
  await collect(enqueued);
  for (let retry = 1; retry <= maxRetries && hasLost(finished); retry += 1) {
    await options.assertHealthy();
    // Services that respond but fail every rollout twice need an operator.
    if (retry > 1 && [...finished.values()].every(({ failure }) => failure === 'infrastructure')) break;
    await systemClock.sleep(backoffMs(retryBackoff, retry), signal);
    await collect(await requeueLost(store, finished));
  }
  const collected = enqueued.map(({ rolloutId }) => finished.get(rolloutId)).filter((rollout) => rollout !== undefined);
  const scored = await scoreGroups(groupRollouts(collected), options);
  const byId = new Map(scored.map((each) => [each.rollout.rolloutId, each]));
  return collected.map((each) => byId.get(each.rollout.rolloutId) ?? each);
}

function hasLost(finished: ReadonlyMap<string, FinishedRollout>): boolean {
  return [...finished.values()].some(({ failure }) => failure === 'infrastructure');
}

/** Requeues the rollouts that failed by infrastructure. */
async function requeueLost(store: Store, finished: Map<string, FinishedRollout>): Promise<readonly Rollout[]> {
  const lost = [...finished.values()].filter(({ failure }) => failure === 'infrastructure');
  // Read again: a slow runner may have reported in the meantime.
  const latest = await readFinishedRollouts(
    store,
    lost.map(({ rollout }) => rollout),
  );
  for (const each of latest) finished.set(each.rollout.rolloutId, each);
  return await pMap(
    latest.filter(({ failure }) => failure === 'infrastructure'),
    ({ rollout }) => store.updateRollout(rollout.rolloutId, { status: 'requeuing' }),
    { concurrency: changeConcurrency },
  );
}

/**
 * Cancels the unfinished rollouts of a run, such as those of an interrupted trainer. Collecting requeues those that are
 * still needed. The others must not run with other weights.
 *
 * @param scope.rolloutIdIn - only these @default all rollouts of the run
 * @returns the number of cancelled rollouts
 */
export async function cancelUnfinished(
  store: Store,
  scope: Pick<RolloutQuery, 'rolloutIdIn'> & { readonly runId: string },
): Promise<number> {
  const { items } = await store.queryRollouts({
    ...scope,
    statusIn: ['queuing', 'requeuing', 'preparing', 'running'],
  });
  const cancelled = await pMap(items, (rollout) => cancel(store, rollout), { concurrency: changeConcurrency });
  return cancelled.filter((isCancelled) => isCancelled).length;
}

async function cancel(store: Store, { rolloutId }: Rollout): Promise<boolean> {
  try {
    await store.updateRollout(rolloutId, { status: 'cancelled' });
    return true;
  } catch (error) {
    // A remote runner has ended the rollout in the meantime.
    if (!AgentLightningError.isInstance(error) || error.code !== 'ILLEGAL_TRANSITION') throw error;
    return false;
  }
}

/** The group id of a rollout: each occurrence of a task in a step is a group. */
function groupIdOf({ rolloutId, metadata }: Rollout): string {
  return String(metadata?.['group_id'] ?? rolloutId);
}

/** Groups rollouts by group id, or by another id; in the order of their first rollouts. */
export function groupRollouts<TRollout extends CollectedRollout>(
  rollouts: readonly TRollout[],
  idOf: (rollout: Rollout) => string = groupIdOf,
): readonly (CollectedGroup & { readonly rollouts: readonly TRollout[] })[] {
  const groups = new Map<string, TRollout[]>();
  for (const collected of rollouts) {
    const groupId = idOf(collected.rollout);
    const group = groups.get(groupId);
    if (group === undefined) groups.set(groupId, [collected]);
    else group.push(collected);
  }
  return [...groups].map(([groupId, members]) => ({ groupId, rollouts: members }));
}

/** Requeues rollouts of an earlier process that have no result, with the current address of the gateway. */
async function reopenLost(
  store: Store,
  requests: readonly EnqueueRolloutRequest[],
  known: readonly Rollout[],
): Promise<readonly Rollout[]> {
  const haveAllFailed = known.every(({ status }) => status === 'failed');
  const resourcesIds = new Map(requests.map(({ rolloutId, resourcesId }) => [rolloutId, resourcesId ?? null]));
  const failed = await readFinishedRollouts(
    store,
    known.filter(({ status }) => status === 'failed'),
  );
  const lost = new Set(
    [
      ...known.filter(({ status }) => status === 'cancelled'),
      ...failed.filter(({ failure }) => haveAllFailed || failure === 'infrastructure').map(({ rollout }) => rollout),
    ].map(({ rolloutId }) => rolloutId),
  );
  const reopen = async (rollout: Rollout): Promise<Rollout> => {
    const { rolloutId } = rollout;
    if (!lost.has(rolloutId)) return rollout;
    const resourcesId = resourcesIds.get(rolloutId) ?? null;
    return await store.updateRollout(rolloutId, { status: 'requeuing', resourcesId });
  };
  return await pMap(known, reopen, { concurrency: changeConcurrency });
}

async function waitForAll(
  enqueued: readonly Rollout[],
  options: Required<Pick<CollectOptions, 'store' | 'signal' | 'onProgress' | 'waitMs'>>,
): Promise<readonly Rollout[]> {
  const { store, signal, onProgress, waitMs } = options;
  const done = new Map<string, Rollout>();
  for (const rollout of enqueued) if (isTerminalRolloutStatus(rollout.status)) done.set(rollout.rolloutId, rollout);
  onProgress(done.size, enqueued.length);
  while (done.size < enqueued.length) {
    const open = enqueued.filter(({ rolloutId }) => !done.has(rolloutId)).map(({ rolloutId }) => rolloutId);
    const timeoutMs = Math.max(waitMs, open.length * waitMsPerRollout);
    const ended = await store.waitForRollouts(open.slice(0, maxWaited), { timeoutMs, signal });
    signal.throwIfAborted();
    for (const rollout of ended) done.set(rollout.rolloutId, rollout);
    if (ended.length > 0) onProgress(done.size, enqueued.length);
  }
  return [...done.values()];
}
