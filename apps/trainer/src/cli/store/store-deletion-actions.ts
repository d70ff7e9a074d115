import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import { errorMessage, quantityText } from '@agentlightning/core/internal';
import type { DeletionCounts, RetentionPolicy } from '@agentlightning/core/store';
import {
  type CheckpointLocation,
  deleteCheckpoints,
  findRunCheckpoints,
  type KeptFolder,
  type RunCheckpoints,
} from '../../runtime/embedded-checkpoints.ts';
import { writeOutcome } from '../error-text.ts';
import { formatBytes } from '../format-bytes.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { type RunFlags, withStore } from './store-run-actions.ts';

/** The flags that `agl store delete` and `agl store prune` share. */
interface DeletionFlags extends RunFlags {
  readonly dataDir?: string;
}

/** The flags of `agl store delete`. */
export interface DeleteFlags extends DeletionFlags {
  readonly run?: readonly string[];
  readonly rollout?: readonly string[];
  readonly force?: boolean;
}

/** The flags of `agl store prune`. */
export interface PruneFlags extends DeletionFlags {
  readonly olderThan?: number;
  readonly keepRuns?: number;
  readonly traces?: Readonly<Record<string, number>>;
  readonly dryRun?: boolean;
}

/** Deletes runs with their checkpoints, and rollouts. */
export async function deleteFromStore(flags: DeleteFlags): Promise<void> {
  const { run: runIds = [], rollout: rolloutIds = [], force = false } = flags;
  if (runIds.length === 0 && rolloutIds.length === 0) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'no runs or rollouts to delete',
      remedy: 'Give runs with --run or rollouts with --rollout; `agl runs` and `agl rollouts` list them.',
    });
  }
  const outcome = await withStore(await openExistingStore(flags.store), async (store): Promise<Outcome> => {
    const counts: DeletionCounts[] = [];
    let checkpointBytes = 0;
    // All ids are checked before the deletion.
    const runs: Run[] = [];
    for (const runId of runIds) runs.push(await store.getRun(runId));
    for (const rolloutId of rolloutIds) await store.getRollout(rolloutId);
    const found = await findCheckpoints(runs, locationOf(flags));
    listFolders(flags, found);
    for (const { runId, removable } of found) {
      counts.push(await store.deleteRun(runId, { force }));
      checkpointBytes += await deleteFolders(removable);
    }
    if (rolloutIds.length > 0) counts.push(await store.deleteRollouts(rolloutIds));
    return { counts, found, checkpointBytes };
  });
  writeDeletion(flags, outcome);
}

/** Deletes old runs with their checkpoints, and old rollouts; or previews the deletion. */
export async function pruneStore(flags: PruneFlags): Promise<void> {
  const { olderThan, keepRuns, traces, dryRun = false } = flags;
  if (olderThan === undefined && keepRuns === undefined && traces === undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'no retention limit',
      remedy:
        'Set an age with --older-than 30d, a number of runs to keep with --keep-runs 10, or an age of traces with --traces support-agent=30d.',
    });
  }
  const policy: RetentionPolicy = {
    ...(olderThan === undefined ? {} : { olderThanMs: olderThan }),
    ...(keepRuns === undefined ? {} : { keepRuns }),
    ...(traces === undefined ? {} : { traces }),
  };
  const outcome = await withStore(await openExistingStore(flags.store), async (store): Promise<Outcome> => {
    const { runIds, ...preview } = await store.previewRetention(policy);
    const runs: Run[] = [];
    for (const runId of runIds) runs.push(await store.getRun(runId));
    const found = await findCheckpoints(runs, locationOf(flags));
    listFolders(flags, found);
    if (dryRun) return { counts: [preview], found, checkpointBytes: 0 };
    const counts = [await store.applyRetention(policy)];
    let checkpointBytes = 0;
    for (const { runId, removable } of found) {
      // A run that was resumed since the preview keeps its checkpoints.
      if (await isGone(store, runId)) checkpointBytes += await deleteFolders(removable);
    }
    return { counts, found, checkpointBytes };
  });
  writeDeletion(flags, outcome, dryRun ? 'Would delete' : 'Deleted');
}

/** Deleted records, or records that would be deleted. */
interface Outcome {
  readonly counts: readonly DeletionCounts[];
  readonly found: readonly FoundCheckpoints[];
  readonly checkpointBytes: number;
}

interface FoundCheckpoints extends RunCheckpoints {
  readonly runId: string;
}

function locationOf({ store, dataDir }: DeletionFlags): CheckpointLocation {
  return { storeUrl: store, dataDir: dataDir ?? null };
}

async function findCheckpoints(
  runs: readonly Run[],
  location: CheckpointLocation,
): Promise<readonly FoundCheckpoints[]> {
  return await Promise.all(
    runs.map(async (run) => ({ runId: run.runId, ...(await findRunCheckpoints(run, location)) })),
  );
}

/** Lists checkpoint folders before the deletion. */
function listFolders({ json = false }: RunFlags, found: readonly FoundCheckpoints[]): void {
  if (json) return;
  for (const { removable, kept } of found) {
    for (const folder of removable) process.stdout.write(`Checkpoints to delete: ${folder}\n`);
    for (const folder of kept) process.stderr.write(`${keptText(folder)}\n`);
  }
}

function keptText({ path, reason }: KeptFolder): string {
  return `Checkpoints not deleted: ${path} ${reason}. Delete the folder manually, or pass its data directory as --data-dir.`;
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

/** The runs are deleted already: a folder that cannot be deleted is reported, and the others are deleted. */
async function deleteFolders(folders: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const folder of folders) {
    try {
      bytes += await deleteCheckpoints(folder);
    } catch (error) {
      const reason = errorMessage(error);
      process.stderr.write(`Checkpoints could not be deleted: ${folder}: ${reason}. Delete the folder manually.\n`);
    }
  }
  return bytes;
}

function writeDeletion(flags: RunFlags, { counts, found, checkpointBytes }: Outcome, deleted = 'Deleted'): void {
  const sum = (field: keyof DeletionCounts): number => counts.reduce((total, part) => total + part[field], 0);
  const record = { runs: sum('runs'), rollouts: sum('rollouts'), attempts: sum('attempts'), spans: sum('spans') };
  const { runs, rollouts, attempts, spans } = record;
  const checkpoints = checkpointBytes === 0 ? '' : `, with ${formatBytes(checkpointBytes)} of checkpoints`;
  const text = `${deleted} ${quantityText(runs, 'run')}, ${quantityText(rollouts, 'rollout')}, ${quantityText(attempts, 'attempt')} and ${quantityText(spans, 'span')}${checkpoints}.`;
  const folders = {
    checkpoint_bytes: checkpointBytes,
    checkpoints: found.flatMap(({ removable }) => removable),
    kept_checkpoints: found.flatMap(({ kept }) => kept),
  };
  writeOutcome(flags, { record: { ...record, ...folders }, text });
}
