import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { backup } from 'node:sqlite';
import { AgentLightningError } from '@agentlightning/core';
import { isDamage, toStoreError } from '../drivers/sqlite-error.ts';
import { bytesOnDisk, checkStoreFile, createPrivateFile, existingStoreFile, withFile } from './store-file.ts';

/** A completed backup. */
export interface StoreBackup {
  /** The file's full path. */
  readonly file: string;
  /** Size of the backup. */
  readonly bytes: number;
  /** Version of the schema. */
  readonly schemaVersion: number;
}

/** All pages in one step: the backup is a consistent snapshot and does not restart on concurrent writes. */
const allPages = 2 ** 31 - 1;

/**
 * Backs up a store to a file while it is in use. The backup is a consistent snapshot; it is verified, and renamed to
 * its final name when it is complete.
 *
 * @throws AgentLightningError CONFLICT when the file already exists, CONFIG for a store that is not a file
 * @throws NotFoundError when there is no such store
 * @example
 * ```ts
 * const { file, bytes } = await backupStore('sqlite:.agl/agl.db', 'backups/agl.db');
 * ```
 */
export async function backupStore(
  location: string,
  file: string,
  options: { readonly force?: boolean } = {},
): Promise<StoreBackup> {
  const source = existingStoreFile(location, 'Back it up with pg_dump, or export single runs with `agl store export`.');
  const target = resolve(file);
  if (target === source) throw refused(`${target} is the store itself`, 'Name another file.');
  if (existsSync(target) && options.force !== true) {
    throw refused(
      `The file ${target} already exists`,
      'Name another file, or overwrite it with --force (force: true).',
    );
  }
  await mkdir(dirname(target), { recursive: true });
  const schemaVersion = await copyStore(source, target);
  return { file: target, bytes: await bytesOnDisk(target), schemaVersion };
}

/** Copies a snapshot of a store's file, verifies and renames the copy, and returns its schema version. */
export async function copyStore(source: string, target: string): Promise<number> {
  const partial = `${target}.partial`;
  await rm(partial, { force: true });
  try {
    await withFile(source, { readOnly: true }, async (database) => {
      try {
        await createPrivateFile(partial);
        await backup(database, partial, { rate: allPages });
      } catch (error) {
        // Damage concerns the source; a full disk or missing permissions concern the target.
        throw isDamage(error) ? error : toStoreError(error, target);
      }
    });
    // The copy is a single file without a write-ahead log.
    await withFile(partial, { readOnly: false }, (database) => database.exec('PRAGMA journal_mode = DELETE'));
    const { schemaVersion } = await checkStoreFile(partial);
    await rename(partial, target);
    return schemaVersion;
  } finally {
    await rm(partial, { force: true });
  }
}

function refused(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'CONFLICT', message, remedy });
}
