import { lstat, readdir, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { AgentLightningError, type Run } from '@agentlightning/core';
import { addressText, quantityText } from '@agentlightning/core/internal';
import { isCheckpointFolder } from '@agentlightning/runtime-cpu/internal';
import { z } from 'zod';
import { isModelOf, isRunId } from '../config/model-name.ts';
import { checkpointRoot } from './checkpoint-root.ts';

/** The location of checkpoints that may be deleted. */
export interface CheckpointLocation {
  /** The store that the run is in. */
  readonly storeUrl: string;
  /** The data directory that the operator named; null for the folder of the store's file. */
  readonly dataDir: string | null;
}

/** Checkpoints that are not deleted. */
export interface KeptCheckpoints {
  /** A folder of this machine, or the address of a runtime. */
  readonly path: string;
  /** The predicate of a sentence with the path as its subject. */
  readonly reason: string;
  /** How to delete them. */
  readonly remedy: string;
}

/** The checkpoints of a run. */
export interface RunCheckpoints {
  /** Folders of the run's models that the embedded runtime created: may be deleted with the run. */
  readonly removable: readonly string[];
  readonly kept: readonly KeptCheckpoints[];
}

/** The fields of a run with the location of its checkpoints. They are untrusted: the store's clients wrote them. */
const embeddedRun = z.object({
  config: z.object({ runtime: z.object({ type: z.literal('embedded') }), storeUrl: z.string() }),
  state: z.object({ dataDir: z.string().min(1) }),
});

/** The fields of a run whose checkpoints another machine has. They are only shown. */
const remoteRun = z.object({
  config: z.object({
    runtime: z.discriminatedUnion('type', [
      z.object({ type: z.literal('grpc'), address: z.string() }),
      z.object({ type: z.literal('tinker'), baseUrl: z.string() }),
    ]),
  }),
  state: z.object({ checkpoints: z.array(z.object({ step: z.int() })).min(1), dataDir: z.string() }),
});

const none: RunCheckpoints = { removable: [], kept: [] };

/**
 * Finds the checkpoint folders of a run below the data directory: the one that the operator named, or the folder of the
 * store's file. The store's clients wrote the paths in a run, so they only ever exclude a folder, never add one. A backup
 * or a copy of a store holds runs whose recorded store is another file; their checkpoints belong to that one.
 */
export async function findRunCheckpoints(run: Run, location: CheckpointLocation): Promise<RunCheckpoints> {
  const remote = remoteCheckpoints(run);
  if (remote !== null) return { removable: [], kept: [remote] };
  const known = embeddedRun.safeParse(run).data;
  const root = await realDataDirectory(location);
  if (root === null || !isRunId(run.runId)) return none;
  if (location.dataDir === null) {
    if (known === undefined || !(await isSameFile(known.config.storeUrl, location.storeUrl))) return none;
    if ((await realPath(known.state.dataDir)) !== root) return await keptElsewhere(run.runId, known.state.dataDir);
  }
  const checkpoints = checkpointRoot(root);
  const names = await readdir(checkpoints).catch(() => []);
  const own = names.filter((name) => isModelOf(run.runId, name)).toSorted();
  const reasons = await Promise.all(own.map((name) => reasonToKeep(path.join(checkpoints, name))));
  const folders = own.map((name, index) => ({ path: path.join(checkpoints, name), reason: reasons[index] ?? null }));
  return {
    removable: folders.filter(({ reason }) => reason === null).map((folder) => folder.path),
    kept: folders.flatMap(({ reason, ...folder }) =>
      reason === null ? [] : [{ ...folder, reason, remedy: folderRemedy }],
    ),
  };
}

const folderRemedy = 'Delete the folder manually, or pass its data directory as --data-dir.';

/** The checkpoints of a run at a runtime of another process, which keeps them; null for none. */
function remoteCheckpoints(run: Run): KeptCheckpoints | null {
  const known = remoteRun.safeParse(run).data;
  if (known === undefined) return null;
  const { runtime } = known.config;
  const { checkpoints, dataDir } = known.state;
  const saved = `${quantityText(checkpoints.length, 'checkpoint')} of ${run.runId}`;
  if (runtime.type === 'grpc') {
    const reason = `is a runtime, which keeps ${saved}`;
    return { path: runtime.address, reason, remedy: 'Delete them in its checkpoint folder.' };
  }
  const files = path.join(checkpointRoot(dataDir), run.runId);
  return {
    path: addressText(runtime.baseUrl),
    reason: `is a Tinker server, which keeps ${saved}`,
    remedy: `Delete them there: the files in ${files} have their addresses as \`weights\`. Then delete these files.`,
  };
}

/**
 * Deletes a folder that {@link findRunCheckpoints} returned as removable.
 *
 * @returns its size in bytes
 * @throws AgentLightningError CONFLICT when it is no longer removable
 */
export async function deleteCheckpoints(folder: string): Promise<number> {
  const reason = await reasonToKeep(folder);
  if (reason !== null) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `it ${reason}`,
      remedy: 'Delete the folder manually if its content is not needed.',
    });
  }
  const bytes = await bytesIn(folder);
  await rm(folder, { recursive: true, force: true });
  return bytes;
}

async function realDataDirectory({ storeUrl, dataDir }: CheckpointLocation): Promise<string | null> {
  if (dataDir !== null) return await realPath(path.resolve(dataDir));
  const file = await realPath(fileOf(storeUrl));
  return file === null ? null : path.dirname(file);
}

/** A folder outside the data directory, if it exists: the operator may name its data directory. */
async function keptElsewhere(runId: string, dataDir: string): Promise<RunCheckpoints> {
  const folder = path.join(checkpointRoot(dataDir), runId);
  if (!path.isAbsolute(dataDir) || (await realPath(folder)) === null) return none;
  return {
    removable: [],
    kept: [{ path: folder, reason: 'is outside the data directory of the store', remedy: folderRemedy }],
  };
}

/** Null for a folder that may be deleted: without symbolic links, and created by the embedded runtime. */
async function reasonToKeep(folder: string): Promise<string | null> {
  if ((await realPath(folder)) !== folder) return 'is reached through a symbolic link';
  return (await isCheckpointFolder(folder)) ? null : 'has no checkpoint marker';
}

/** Whether both URLs are the same store file. Relative paths are rejected: they depend on the working directory. */
async function isSameFile(recorded: string, opened: string): Promise<boolean> {
  if (!path.isAbsolute(recorded.replace(/^sqlite:/, ''))) return false;
  const [one, other] = await Promise.all([realPath(fileOf(recorded)), realPath(fileOf(opened))]);
  return one !== null && one === other;
}

/** The file of an embedded store. URLs of other stores are not paths of existing files. */
function fileOf(storeUrl: string): string {
  return path.resolve(storeUrl.replace(/^sqlite:/, ''));
}

async function realPath(file: string): Promise<string | null> {
  return await realpath(file).catch(() => null);
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder);
  const sizes = await Promise.all(files.map((file) => bytesOf(path.join(folder, file))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The size of a file or symbolic link; 0 when it does not exist. */
async function bytesOf(file: string): Promise<number> {
  return await lstat(file).then(
    ({ size }) => size,
    () => 0,
  );
}
