import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AgentLightningError, type DeletionCounts, NotFoundError, type Store } from '@agentlightning/core';
import { openAnyStore } from '../runtime/open-any-store.ts';
import { byteText } from './byte-text.ts';
import { openExistingStore } from './open-existing-store.ts';
import { writeOutcome } from './write-outcome.ts';

/** The flags of `agl store import`. */
export interface RunFlags {
  readonly store: string;
  readonly json?: boolean;
}

/** The flags of `agl store export`. */
export interface ExportFlags extends RunFlags {
  readonly out?: string;
  readonly force?: boolean;
}

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

/** Writes a run into a file, which takes its name only when it is whole. */
export async function exportRunToFile(runId: string, flags: ExportFlags): Promise<void> {
  const file = path.resolve(flags.out ?? `${runId.replace(/[^\w.-]/g, '_')}.agl-run.gz`);
  if (existsSync(file) && flags.force !== true) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `there is a file ${file} already`,
      remedy: 'Name another with --out, or overwrite it with --force.',
    });
  }
  const partial = `${file}.partial`;
  await withStore(await openExistingStore(flags.store), async (store) => {
    try {
      await pipeline(store.exportRun(runId), createWriteStream(partial));
      await rename(partial, file);
    } finally {
      await rm(partial, { force: true });
    }
  });
  const { size } = await stat(file);
  writeOutcome(flags, {
    record: { run: runId, file, bytes: size },
    text: `Exported ${runId} to ${file} (${byteText(size)}).`,
  });
}

/** Adds a run from a file; into a new store if there is none yet. */
export async function importRunFromFile(file: string, flags: RunFlags): Promise<void> {
  if (!existsSync(file)) throw new NotFoundError('File', path.resolve(file));
  const target = await openAnyStore({ url: flags.store, apiKey: process.env['AGL_STORE_KEY'] ?? null });
  const { run, rollouts } = await withStore(target, async (store) => {
    const imported = await store.importRun(createReadStream(file));
    return { run: imported, rollouts: (await store.runStatistics(imported.runId)).totalRollouts };
  });
  writeOutcome(flags, {
    record: { run: run.runId, name: run.name, status: run.status, rollouts },
    text: `Imported ${run.runId} (${run.name}) with ${rollouts} rollouts.`,
  });
}

/** Deletes runs and rollouts. */
export async function deleteFromStore(flags: DeleteFlags): Promise<void> {
  const { run: runIds = [], rollout: rolloutIds = [], force = false } = flags;
  if (runIds.length === 0 && rolloutIds.length === 0) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'nothing was named to delete',
      remedy: 'Name runs with --run or rollouts with --rollout; `agl runs` and `agl rollouts` list them.',
    });
  }
  const deleted = await withStore(await openExistingStore(flags.store), async (store) => {
    const counts: DeletionCounts[] = [];
    for (const runId of runIds) counts.push(await store.deleteRun(runId, { force }));
    if (rolloutIds.length > 0) counts.push(await store.deleteRollouts(rolloutIds));
    return counts;
  });
  writeDeletion(flags, deleted);
}

/** Deletes what is old, or says how much that is. */
export async function pruneStore(flags: PruneFlags): Promise<void> {
  const { olderThan, keepRuns, dryRun = false } = flags;
  const policy = {
    ...(olderThan === undefined ? {} : { olderThanMs: olderThan }),
    ...(keepRuns === undefined ? {} : { keepRuns }),
  };
  const store = await openExistingStore(flags.store);
  const deleted = await withStore(store, (opened) =>
    dryRun ? opened.previewRetention(policy) : opened.applyRetention(policy),
  );
  writeDeletion(flags, [deleted], dryRun ? 'Would delete' : 'Deleted');
}

function writeDeletion(flags: RunFlags, parts: readonly DeletionCounts[], deleted = 'Deleted'): void {
  const sum = (field: keyof DeletionCounts): number => parts.reduce((total, part) => total + part[field], 0);
  const record = { runs: sum('runs'), rollouts: sum('rollouts'), attempts: sum('attempts'), spans: sum('spans') };
  const { runs, rollouts, attempts, spans } = record;
  const text = `${deleted} ${runs} runs, ${rollouts} rollouts, ${attempts} attempts and ${spans} spans.`;
  writeOutcome(flags, { record, text });
}

async function withStore<TResult>(store: Store, work: (store: Store) => Promise<TResult>): Promise<TResult> {
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
