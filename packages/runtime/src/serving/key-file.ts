import { randomBytes } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** A random API key of 256 bits. */
export function randomApiKey(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Writes an API key to a file readable only by its owner (mode 0600). An existing file is replaced, to not keep wider
 * permissions.
 *
 * @example
 * ```ts
 * const apiKey = randomApiKey();
 * await writeKeyFile('.agl/checkpoints/runtime.key', apiKey);
 * ```
 */
export async function writeKeyFile(file: string, apiKey: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, `${apiKey}\n`, { mode: 0o600, flag: 'wx' });
  await rename(temporary, file);
}
