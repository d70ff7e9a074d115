import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AttemptTokens } from '@agentlightning/core/protocol';
import type { SharedSettings } from '../config/shared-settings.ts';

/** The file below the data directory that holds the secret of a trainer whose configuration has none. */
const secretFile = 'attempt-secret';

/**
 * The tokens that the gateway of this process requires of attempts: an address alone can be guessed, and calls at it are
 * trained on. Without a configured secret, a random one is kept in the data directory, so that it survives a resume.
 *
 * @returns null for a gateway that runs elsewhere, whose secret is not known here
 */
export async function requiredAttemptTokens({
  attemptTokens,
  gatewayUrl,
  dataDir,
}: Pick<SharedSettings, 'attemptTokens' | 'gatewayUrl' | 'dataDir'>): Promise<AttemptTokens | null> {
  if (attemptTokens !== null || gatewayUrl !== null) return attemptTokens;
  return new AttemptTokens({ secrets: [await readOrCreateSecret(dataDir)] });
}

async function readOrCreateSecret(dataDir: string): Promise<string> {
  const file = path.join(dataDir, secretFile);
  await mkdir(dataDir, { recursive: true });
  try {
    await writeFile(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return (await readFile(file, 'utf8')).trim();
}
