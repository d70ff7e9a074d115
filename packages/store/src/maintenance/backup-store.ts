import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { backup } from 'node:sqlite';
import { AgentLightningError } from '@agentlightning/core';
import { isDamage, storeErrorFrom } from '../drivers/sqlite-error.ts';
import { bytesOnDisk, checkStoreFile, existingStoreFile, withFile } from './store-file.ts';

/** A backup that was written. */
export interface StoreBackup {
  /** The file's full path. */
  readonly file: string;
  readonly bytes: number;
  readonly schemaVersion: number;
}

/** All pages in one step: the backup is the store at one moment, and does not begin anew with every write. */
const allPages = 2 ** 31 - 1;

/**
 * Copies a store into a file while it is in use: the copy is the store as it is at one moment, is checked,
 * and takes its name only when it is whole.
 *
 * @throws AgentLightningError CONFLICT when the file is there already, CONFIG for a store that is no file
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
  const source = existingStoreFile(location, 'Back it up with pg_dump, or carry single runs with `agl store export`.');
  const target = resolve(file);
  if (target === source) throw refused(`${target} is the store itself`, 'Name another file.');
  if (existsSync(target) && options.force !== true) {
    throw refused(
      `There is a file ${target} already`,
      'Name another file, or overwrite it with --force (force: true).',
    );
  }
  await mkdir(dirname(target), { recursive: true });
  const schemaVersion = await copyStore(source, target);
  return { file: target, bytes: await bytesOnDisk(target), schemaVersion };
}

/** Copies a store's file at one moment, checks the copy, and puts it in its place; gives back its schema version. */
export async function copyStore(source: string, target: string): Promise<number> {
  const partial = `${target}.partial`;
  await rm(partial, { force: true });
  try {
    await withFile(source, { readOnly: true }, async (database) => {
      try {
        await backup(database, partial, { rate: allPages });
      } catch (error) {
        // Only damage is in what is read; no room, or no right to write, is where the copy goes.
        throw isDamage(error) ? error : storeErrorFrom(error, target);
      }
    });
    // The copy is one file: nothing of it is in a log beside it.
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
