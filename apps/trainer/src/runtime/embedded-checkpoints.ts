import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Run } from '@agentlightning/core';
import { z } from 'zod';

/** Where the embedded runtime keeps its checkpoints, in a folder for each model. */
export function checkpointRoot(dataDir: string): string {
  return path.join(dataDir, 'checkpoints');
}

/** What tells of checkpoints in a run; other runtimes keep theirs where they are. */
const embeddedRun = z.object({
  config: z.object({ runtime: z.object({ type: z.literal('embedded') }) }),
  state: z.object({
    dataDir: z.string().min(1),
    checkpoints: z.array(z.object({ uri: z.string().optional(), uris: z.record(z.string(), z.string()).optional() })),
  }),
});

/**
 * Deletes the checkpoints that a run of the embedded runtime has on this machine.
 *
 * @returns how many bytes they had
 */
export async function deleteCheckpoints(run: Run): Promise<number> {
  let bytes = 0;
  for (const folder of checkpointFolders(run)) {
    bytes += await bytesIn(folder);
    await rm(folder, { recursive: true, force: true });
  }
  return bytes;
}

/** The folders of the run's models. What a store says is not trusted with more than those. */
function checkpointFolders(run: Run): readonly string[] {
  const known = embeddedRun.safeParse(run).data;
  if (known === undefined) return [];
  const { dataDir, checkpoints } = known.state;
  const uris = checkpoints.flatMap(({ uri, uris: byPolicy }) => [uri ?? [], Object.values(byPolicy ?? {})].flat());
  const models = new Set([run.runId, ...uris.map((uri) => uri.split('/')[0] ?? '')]);
  return [...models]
    .filter((model) => /^[\w-]+$/.test(model) && (model === run.runId || model.startsWith(`${run.runId}-`)))
    .map((model) => path.join(checkpointRoot(dataDir), model));
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder).catch(() => []);
  const sizes = await Promise.all(files.map(async (file) => (await stat(path.join(folder, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
