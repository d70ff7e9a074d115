import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AgentLightningError, NotFoundError, type Store } from '@agentlightning/core';
import { quantityText } from '@agentlightning/core/internal';
import { openStoreByUrl } from '../../runtime/open-store-by-url.ts';
import { writeOutcome } from '../error-text.ts';
import { formatBytes } from '../format-bytes.ts';
import { openExistingStore } from '../open-existing-store.ts';

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

/** Writes a run to a file, or to standard output where that is redirected and no file is named. */
export async function exportRun(runId: string, flags: ExportFlags): Promise<void> {
  const isRedirected = !process.stdout.isTTY && flags.json !== true;
  if (flags.out === '-' || (flags.out === undefined && isRedirected)) await exportRunToOutput(runId, flags);
  else await exportRunToFile(runId, flags);
}

async function exportRunToOutput(runId: string, flags: ExportFlags): Promise<void> {
  if (process.stdout.isTTY) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'an archive is not written to a terminal',
      remedy: `Redirect it, as in \`agl store export ${runId} > run.gz\`, or name a file with --out.`,
    });
  }
  await withStore(await openExistingStore(flags.store), async (store) => {
    await pipeline(store.exportRun(runId), process.stdout, { end: false });
  });
}

/** Writes a run to a file, which is renamed to its final name when it is complete. */
async function exportRunToFile(runId: string, flags: ExportFlags): Promise<void> {
  const file = path.resolve(flags.out ?? `${runId.replace(/[^\w.-]/g, '_')}.agl-run.gz`);
  if (existsSync(file) && flags.force !== true) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `the file exists: ${file}`,
      remedy: 'Choose another with --out, or overwrite it with --force.',
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
    text: `Exported ${runId} to ${file} (${formatBytes(size)}).`,
  });
}

/** Adds a run from a file; creates the store if it is missing. */
export async function importRunFromFile(file: string, flags: RunFlags): Promise<void> {
  if (!existsSync(file)) throw new NotFoundError('File', path.resolve(file), 'Check its path.');
  const target = await openStoreByUrl({ url: flags.store, apiKey: process.env['AGL_STORE_KEY'] ?? null });
  const { run, rollouts } = await withStore(target, async (store) => {
    const imported = await store.importRun(createReadStream(file));
    return { run: imported, rollouts: (await store.runStatistics(imported.runId)).totalRollouts };
  });
  writeOutcome(flags, {
    record: { run: run.runId, name: run.name, status: run.status, rollouts },
    text: `Imported ${run.runId} (${run.name}) with ${quantityText(rollouts, 'rollout')}.`,
  });
}

/** Closes the store when the work is done. */
export async function withStore<TResult>(store: Store, work: (store: Store) => Promise<TResult>): Promise<TResult> {
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
