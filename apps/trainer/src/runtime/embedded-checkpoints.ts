import { lstat, readdir, realpath, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import type { Run } from '@agentlightning/core';
import { z } from 'zod';

/** Where the embedded runtime keeps its checkpoints, in a folder for each model. */
export function checkpointRoot(dataDir: string): string {
  return path.join(dataDir, 'checkpoints');
}

/** What the files of checkpoints end with. */
const extension = '.safetensors';

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
 * @returns a folder for each model, and single files where a folder may be another run's too: a run that began when one
 *   hyphen stood between run and policy has the folder `a-b` for its policy `b`, as run `a-b` has. None for runs of other
 *   runtimes and other stores
 */
export async function checkpointPlaces(run: Run, storeUrl: string): Promise<readonly string[]> {
  const known = embeddedRun.safeParse(run).data;
  if (known === undefined || !(await isSameFile(known.config.storeUrl, storeUrl))) return [];
  return placesOf(run.runId, known);
}

/**
 * Deletes a folder of checkpoints; or a single one, and its folder when it was the last there.
 *
 * @returns how many bytes they had
 */
export async function deleteCheckpoints(place: string): Promise<number> {
  const isFile = place.endsWith(extension);
  const bytes = isFile ? await bytesOf(place) : await bytesIn(place);
  await rm(place, { recursive: !isFile, force: true });
  if (isFile) await rmdir(path.dirname(place)).catch(() => undefined);
  return bytes;
}

/** The places of the run's models. What a store says is not trusted with more than those. */
function placesOf(runId: string, { state }: z.output<typeof embeddedRun>): readonly string[] {
  const { dataDir, checkpoints } = state;
  const uris = checkpoints.flatMap(({ uri, uris: byPolicy }) => [uri ?? [], Object.values(byPolicy ?? {})].flat());
  const places = uris.flatMap((uri) => {
    const [model = '', name = ''] = /^([\w-]+)\/([\w-]+)$/.exec(uri)?.slice(1) ?? [];
    if (model.startsWith(`${runId}--`)) return [model];
    return model.startsWith(`${runId}-`) ? [path.join(model, name + extension)] : [];
  });
  const own = /^[\w-]+$/.test(runId) ? [runId] : [];
  return [...new Set([...own, ...places])].map((place) => path.join(checkpointRoot(dataDir), place));
}

async function isSameFile(...stores: readonly [string, string]): Promise<boolean> {
  // One that is not a file, or not there, is no place of its own: it is not the same as any.
  const places = stores.map((url) => realpath(url.replace(/^sqlite:/, '')).catch(() => null));
  const [one, other] = await Promise.all(places);
  return one !== null && one === other;
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder).catch(() => []);
  const sizes = await Promise.all(files.map((file) => bytesOf(path.join(folder, file))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The size of a file, or of the link that it is; 0 when there is none. */
async function bytesOf(file: string): Promise<number> {
  return await lstat(file).then(
    ({ size }) => size,
    () => 0,
  );
}
