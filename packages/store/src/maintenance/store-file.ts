import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { storeErrorFrom } from '../drivers/sqlite-error.ts';
import { migrations } from '../migrate.ts';
import { isPostgres, sqlitePath } from '../store-location.ts';

/**
 * The file that a location names, which must be there.
 *
 * @param remedy - what to do instead where the store is no file
 * @throws NotFoundError when there is no such file
 * @throws AgentLightningError CONFIG for a store that is no file
 */
export function existingStoreFile(location: string, remedy: string): string {
  const path = storeFile(location, remedy);
  if (!existsSync(path)) throw new NotFoundError('Store', path, 'Check the path of its file.');
  return path;
}

/**
 * The file that a location names, whether it is there or not.
 *
 * @throws AgentLightningError CONFIG for a store that is no file
 */
export function storeFile(location: string, remedy: string): string {
  const path = isPostgres(location) ? ':memory:' : sqlitePath(location);
  if (path !== ':memory:') return path;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: isPostgres(location)
      ? 'The store is a PostgreSQL database, not a file'
      : 'The store is in memory, not a file',
    remedy,
  });
}

/** Does something with a store's file and closes it, with errors that mean something to users of stores. */
export async function withFile<TResult>(
  path: string,
  options: { readonly readOnly: boolean },
  work: (database: DatabaseSync) => TResult | Promise<TResult>,
): Promise<TResult> {
  try {
    const database = new DatabaseSync(path, { ...options, timeout: 10_000 });
    try {
      return await work(database);
    } finally {
      database.close();
    }
  } catch (error) {
    throw storeErrorFrom(error, path);
  }
}

/**
 * Reads the schema version of a store's file and checks every page of it.
 *
 * @throws AgentLightningError STORE_SCHEMA when it is damaged, is no store, or a newer version wrote it
 */
export function checkStoreFile(path: string): Promise<{ readonly schemaVersion: number }> {
  return withFile(path, { readOnly: true }, (database) => {
    const isStore = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").get();
    if (isStore === undefined) throw wrongFile(`${path} is a database, but no store`);
    const check = database.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'];
    if (check !== 'ok') throw wrongFile(`${path} is damaged: ${String(check)}`);
    const row = database.prepare('SELECT max(version) AS version FROM schema_migrations').get();
    const schemaVersion = Number(row?.['version'] ?? 0);
    const newest = migrations.at(-1)?.version ?? 0;
    if (schemaVersion > newest) {
      throw wrongFile(`${path} has schema version ${schemaVersion}, and this package knows versions up to ${newest}`);
    }
    return { schemaVersion };
  });
}

/** How many bytes a store takes on disk, with what was not yet moved into its main file. */
export async function bytesOnDisk(path: string): Promise<number> {
  const sizes = [path, `${path}-wal`].map(async (file) => (existsSync(file) ? (await stat(file)).size : 0));
  return (await Promise.all(sizes)).reduce((total, size) => total + size, 0);
}

function wrongFile(message: string): AgentLightningError {
  return new AgentLightningError({
    code: 'STORE_SCHEMA',
    message,
    remedy: 'Use another file, such as an earlier backup, or the version of the package that wrote it.',
  });
}
