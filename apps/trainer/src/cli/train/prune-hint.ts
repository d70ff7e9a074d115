import { stat } from 'node:fs/promises';
import { formatBytes } from '../format-bytes.ts';

/** Size from which pruning is suggested, in bytes. */
const largeBytes = 1_000_000_000;

/**
 * Suggests the commands that free disk space when the file of a store is large.
 *
 * @param storeUrl - with an absolute path for SQLite
 * @param command - the command line of `agl`, such as `npx agl`
 * @returns one line; null below the limit
 */
export async function pruneHint(
  storeUrl: string,
  command: string,
  largeFrom: number = largeBytes,
): Promise<string | null> {
  const file = /^sqlite:(?!:memory:)(.+)$/.exec(storeUrl)?.[1];
  const size =
    file === undefined
      ? 0
      : await stat(file).then(
          (found) => found.size,
          () => 0,
        );
  if (size < largeFrom) return null;
  const store = `--store ${storeUrl}`;
  return `The store has ${formatBytes(size)}. \`${command} store prune --keep-runs 10 ${store}\` deletes older runs with their checkpoints, \`${command} store vacuum ${store}\` then returns the space to the disk.`;
}
