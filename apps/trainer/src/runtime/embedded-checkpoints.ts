import { lstat, readdir, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Run } from '@agentlightning/core';
import { z } from 'zod';

/** Where the embedded runtime keeps its checkpoints, in a folder for each model. */
export function checkpointRoot(dataDir: string): string {
  return path.join(dataDir, 'checkpoints');
}

/** What tells of checkpoints in a run; other runtimes keep theirs where they are. */
const embeddedRun = z.object({
  config: z.object({ runtime: z.object({ type: z.literal('embedded') }), storeUrl: z.string() }),
  state: z.object({
    dataDir: z.string().min(1),
    checkpoints: z.array(z.object({ uri: z.string().optional(), uris: z.record(z.string(), z.string()).optional() })),
  }),
});

/**
 * Where a run of the embedded runtime has its checkpoints on this machine.
 *
 * @param storeUrl - the store that the run is in. A backup, an archive or a copy of a folder names the checkpoints of the
 *   run that it was made from: they are those of the store where the run began, and no business of another
 * @returns a folder for each model; none for runs of other runtimes and other stores
 */
export async function checkpointFolders(run: Run, storeUrl: string): Promise<readonly string[]> {
  const known = embeddedRun.safeParse(run).data;
  if (known === undefined || !(await isSameFile(known.config.storeUrl, storeUrl))) return [];
  return foldersOf(run.runId, known);
}

/**
 * Deletes a folder of checkpoints.
 *
 * @returns how many bytes it had
 */
export async function deleteCheckpoints(folder: string): Promise<number> {
  const bytes = await bytesIn(folder);
  await rm(folder, { recursive: true, force: true });
  return bytes;
}

/** The folders of the run's models. What a store says is not trusted with more than those. */
function foldersOf(runId: string, { state }: z.output<typeof embeddedRun>): readonly string[] {
  const { dataDir, checkpoints } = state;
  const uris = checkpoints.flatMap(({ uri, uris: byPolicy }) => [uri ?? [], Object.values(byPolicy ?? {})].flat());
  const models = new Set([runId, ...uris.map((uri) => uri.split('/')[0] ?? '')]);
  return [...models]
    .filter((model) => /^[\w-]+$/.test(model) && (model === runId || model.startsWith(`${runId}-`)))
    .map((model) => path.join(checkpointRoot(dataDir), model));
}

async function isSameFile(...stores: readonly [string, string]): Promise<boolean> {
  // One that is not a file, or not there, is no place of its own: it is not the same as any.
  const places = stores.map((url) => realpath(url.replace(/^sqlite:/, '')).catch(() => null));
  const [one, other] = await Promise.all(places);
  return one !== null && one === other;
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder).catch(() => []);
  const sizes = await Promise.all(files.map(async (file) => (await lstat(path.join(folder, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
