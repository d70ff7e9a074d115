import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AttemptTokens } from '@agentlightning/core/protocol';
import type { SharedSettings } from '../config/shared-settings.ts';

/** Reads a secret of this machine, or creates a random one that only this user can read. Its folder is created. */
export async function readOrCreateSecret(file: string): Promise<string> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(draft, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' });
  try {
    // A link appears with its content: another process that starts now reads the whole secret.
    await link(draft, file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await rm(draft);
  }
  return (await readFile(file, 'utf8')).trim();
}

/** The file with the random secret of a data directory whose operator configured none. */
const secretFile = 'attempt-secret';

/**
 * The tokens that gateways require of attempts: an address alone can be guessed, and calls at it are trained on. Without
 * a configured secret, the gateway of this process has a random one in the data directory, which survives a resume. A
 * gateway in another process has the one of {@link tokensOfStoreFile}.
 *
 * @returns null for a separate gateway in front of a remote store, whose secret is not known here
 */
export async function requiredAttemptTokens({
  attemptTokens,
  gateway,
  dataDir,
  storeUrl,
}: Pick<SharedSettings, 'attemptTokens' | 'dataDir' | 'storeUrl'> & {
  readonly gateway: Pick<SharedSettings['gateway'], 'url'>;
}): Promise<AttemptTokens | null> {
  if (attemptTokens !== null) return attemptTokens;
  return gateway.url === null ? await tokensOfFolder(dataDir) : await tokensOfStoreFile(storeUrl);
}

/**
 * The tokens that processes on one store file share: signed with a random secret in the folder of the file.
 *
 * @returns null for a store in memory, in PostgreSQL or behind a server
 */
export async function tokensOfStoreFile(storeUrl: string): Promise<AttemptTokens | null> {
  const file = storeUrl.replace(/^sqlite:/, '');
  if (file === ':memory:' || /^[a-z]+:/i.test(file)) return null;
  return await tokensOfFolder(path.dirname(path.resolve(file)));
}

async function tokensOfFolder(folder: string): Promise<AttemptTokens> {
  return new AttemptTokens({ secrets: [await readOrCreateSecret(path.join(folder, secretFile))] });
}
