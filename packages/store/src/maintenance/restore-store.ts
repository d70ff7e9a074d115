import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AgentLightningError } from '@agentlightning/core';
import { isBusy } from '../drivers/sqlite-error.ts';
import { copyStore, type StoreBackup } from './backup-store.ts';
import { bytesOnDisk, checkStoreFile, existingStoreFile, storeFile } from './store-file.ts';

/**
 * Restores a store from a backup. The backup is verified first. An existing store is overwritten only with `force`,
 * and never while another process has it open.
 *
 * @throws NotFoundError when there is no such backup
 * @throws AgentLightningError CONFLICT when the store already exists or is open in another process, STORE_SCHEMA
 * when the backup is damaged, is not a store, or was written by a newer version
 */
export async function restoreStore(
  file: string,
  location: string,
  options: { readonly force?: boolean } = {},
): Promise<StoreBackup> {
  const source = existingStoreFile(resolve(file), 'Specify a file written by `agl store backup`.');
  const target = storeFile(location, 'Restore a PostgreSQL database with pg_restore or psql.');
  await checkStoreFile(source);
  if (existsSync(target)) {
    if (options.force !== true) throw alreadyExists(target);
    assertNotInUse(target);
  }
  await mkdir(dirname(target), { recursive: true });
  // The write-ahead log of the old store must not be applied to the new one.
  for (const rest of ['-wal', '-shm']) await rm(`${target}${rest}`, { force: true });
  const schemaVersion = await copyStore(source, target);
  return { file: target, bytes: await bytesOnDisk(target), schemaVersion };
}

/** Leaving WAL mode requires an exclusive lock, which fails while the file is open elsewhere. A damaged file passes. */
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

function alreadyExists(path: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `The store ${path} already exists`,
    remedy: 'Restore to another path, or overwrite it with --force (force: true).',
  });
}
