import { stat } from 'node:fs/promises';
import { byteText } from './byte-text.ts';

/** From how many bytes on a store is worth a word. */
const largeBytes = 1_000_000_000;

/**
 * Says how to make room when a store in a file has become large.
 *
 * @param storeUrl - as in a configuration: an absolute path, or an address
 * @param command - how `agl` is called here
 * @returns a line; null when there is nothing to say
 */
export async function roomHint(
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
  return `The store has ${byteText(size)}. \`${command} store prune --keep-runs 10 ${store}\` deletes older runs with their checkpoints, \`${command} store vacuum ${store}\` then gives the room back.`;
}
