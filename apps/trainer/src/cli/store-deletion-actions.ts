import {
  AgentLightningError,
  type DeletionCounts,
  type RetentionPolicy,
  type Run,
  type Store,
} from '@agentlightning/core';
import { checkpointPlaces, deleteCheckpoints } from '../runtime/embedded-checkpoints.ts';
import { byteText } from './byte-text.ts';
import { openExistingStore } from './open-existing-store.ts';
import { type RunFlags, withStore } from './store-run-actions.ts';
import { writeOutcome } from './write-outcome.ts';

/** The flags of `agl store delete`. */
export interface DeleteFlags extends RunFlags {
  readonly run?: readonly string[];
  readonly rollout?: readonly string[];
  readonly force?: boolean;
}

/** The flags of `agl store prune`. */
export interface PruneFlags extends RunFlags {
  readonly olderThan?: number;
  readonly keepRuns?: number;
  readonly dryRun?: boolean;
}

/** Deletes runs with their checkpoints, and rollouts. */
export async function deleteFromStore(flags: DeleteFlags): Promise<void> {
  const { run: runIds = [], rollout: rolloutIds = [], force = false } = flags;
  if (runIds.length === 0 && rolloutIds.length === 0) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'nothing was named to delete',
      remedy: 'Name runs with --run or rollouts with --rollout; `agl runs` and `agl rollouts` list them.',
    });
  }
  const deleted = await withStore(await openExistingStore(flags.store), async (store): Promise<Deleted> => {
    const counts: DeletionCounts[] = [];
    let checkpointBytes = 0;
    // All of them first: an id that is wrong is told before anything is deleted.
    const runs: Run[] = [];
    for (const runId of runIds) runs.push(await store.getRun(runId));
    for (const rolloutId of rolloutIds) await store.getRollout(rolloutId);
    for (const run of runs) {
      const { runId } = run;
      const places = await checkpointPlaces(run, flags.store);
      counts.push(await store.deleteRun(runId, { force }));
      checkpointBytes += await deletePlaces(places);
    }
    if (rolloutIds.length > 0) counts.push(await store.deleteRollouts(rolloutIds));
    return { counts, checkpointBytes };
  });
  writeDeletion(flags, deleted);
}

/** Deletes what is old, with the checkpoints of runs, or says how much that is. */
export async function pruneStore(flags: PruneFlags): Promise<void> {
  const { olderThan, keepRuns, dryRun = false } = flags;
  if (olderThan === undefined && keepRuns === undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'nothing says what is old',
      remedy: 'Say how old with --older-than 30d, or how many runs to keep with --keep-runs 10.',
    });
  }
  const policy = {
    ...(olderThan === undefined ? {} : { olderThanMs: olderThan }),
    ...(keepRuns === undefined ? {} : { keepRuns }),
  };
  const deleted = await withStore(
    await openExistingStore(flags.store),
    async (store): Promise<Deleted> =>
      dryRun
        ? { counts: [await store.previewRetention(policy)], checkpointBytes: 0 }
        : await deleteOld(store, policy, flags.store),
  );
  writeDeletion(flags, deleted, dryRun ? 'Would delete' : 'Deleted');
}

/** What was deleted. */
interface Deleted {
  readonly counts: readonly DeletionCounts[];
  readonly checkpointBytes: number;
}

/**
 * Deletes what is old, with the checkpoints of those runs that are gone then.
 *
 * @param storeUrl - where the store is
 */
export async function deleteOld(store: Store, policy: RetentionPolicy, storeUrl: string): Promise<Deleted> {
  const before: { readonly runId: string; readonly places: readonly string[] }[] = [];
  for (const run of await allRuns(store)) {
    const places = await checkpointPlaces(run, storeUrl);
    if (places.length > 0) before.push({ runId: run.runId, places });
  }
  const counts = [await store.applyRetention(policy)];
  let checkpointBytes = 0;
  for (const { runId, places } of before) {
    // Asked of each by itself: a list that changes while it is read may lack a run that is there.
    if (await isGone(store, runId)) checkpointBytes += await deletePlaces(places);
  }
  return { counts, checkpointBytes };
}

async function isGone(store: Store, runId: string): Promise<boolean> {
  try {
    await store.getRun(runId);
    return false;
  } catch (error) {
    if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return true;
    throw error;
  }
}

/** The runs are gone already: what cannot be deleted of one is told, and keeps nothing else from being deleted. */
async function deletePlaces(places: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const place of places) {
    try {
      bytes += await deleteCheckpoints(place);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      process.stderr.write(`The checkpoints in ${place} could not be deleted: ${why}. Delete them by hand.\n`);
    }
  }
  return bytes;
}

async function allRuns(store: Store): Promise<readonly Run[]> {
  const runs: Run[] = [];
  for (;;) {
    const { items, total } = await store.queryRuns({ limit: 500, offset: runs.length });
    runs.push(...items);
    if (items.length === 0 || runs.length >= total) return runs;
  }
}

function writeDeletion(flags: RunFlags, { counts, checkpointBytes }: Deleted, deleted = 'Deleted'): void {
  const sum = (field: keyof DeletionCounts): number => counts.reduce((total, part) => total + part[field], 0);
  const record = { runs: sum('runs'), rollouts: sum('rollouts'), attempts: sum('attempts'), spans: sum('spans') };
  const { runs, rollouts, attempts, spans } = record;
  const checkpoints = checkpointBytes === 0 ? '' : `, with ${byteText(checkpointBytes)} of checkpoints`;
  const text = `${deleted} ${runs} runs, ${rollouts} rollouts, ${attempts} attempts and ${spans} spans${checkpoints}.`;
  writeOutcome(flags, { record: { ...record, checkpoint_bytes: checkpointBytes }, text });
}
