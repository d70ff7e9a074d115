import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AgentLightningError } from '@agentlightning/core';
import { isBusy } from '../drivers/sqlite-error.ts';
import { copyStore, type StoreBackup } from './backup-store.ts';
import { bytesOnDisk, checkStoreFile, existingStoreFile, storeFile } from './store-file.ts';

/**
 * Puts a backup in the place of a store. The backup is checked first, and a store that is there is overwritten
 * only by force, and never while somebody has it open.
 *
 * @throws NotFoundError when there is no such backup
 * @throws AgentLightningError CONFLICT when a store is there already or somebody has it open, STORE_SCHEMA when the
 * backup is damaged, is no store, or a newer version wrote it
 */
export async function restoreStore(
  file: string,
  location: string,
  options: { readonly force?: boolean } = {},
): Promise<StoreBackup> {
  const source = existingStoreFile(resolve(file), 'Name the file that `agl store backup` wrote.');
  const target = storeFile(location, 'Restore a PostgreSQL database with pg_restore or psql.');
  await checkStoreFile(source);
  if (existsSync(target)) {
    if (options.force !== true) throw isThere(target);
    assertNotInUse(target);
  }
  await mkdir(dirname(target), { recursive: true });
  // What the old store had beside its file must not be taken for a part of the new one.
  for (const rest of ['-wal', '-shm']) await rm(`${target}${rest}`, { force: true });
  const schemaVersion = await copyStore(source, target);
  return { file: target, bytes: await bytesOnDisk(target), schemaVersion };
}

/** Leaving the WAL mode needs the file for oneself, which shows whether it is; a damaged file is nobody's. */
function assertNotInUse(path: string): void {
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec('PRAGMA journal_mode = DELETE');
  } catch (cause) {
    if (!isBusy(cause)) return;
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `Another process has the store ${path} open`,
      remedy: 'Stop the trainers, runners and store servers that use it, then restore it.',
      cause,
    });
  } finally {
    database?.close();
  }
}

function isThere(path: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `There is a store ${path} already`,
    remedy: 'Restore to another place, or overwrite it with --force (force: true).',
  });
}
