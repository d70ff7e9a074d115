import { existsSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { toStoreError } from '../drivers/sqlite-error.ts';
import { migrations } from '../migrations/migrate.ts';
import { isPostgres, sqlitePath } from '../store-location.ts';

/**
 * The existing file of a location.
 *
 * @param remedy - alternative for stores that are not files
 * @throws NotFoundError when there is no such file
 * @throws AgentLightningError CONFIG for a store that is not a file
 */
export function existingStoreFile(location: string, remedy: string): string {
  const path = storeFile(location, remedy);
  if (!existsSync(path)) throw new NotFoundError('Store', path, 'Check the path of its file.');
  return path;
}

/**
 * The file of a location, which may not exist.
 *
 * @throws AgentLightningError CONFIG for a store that is not a file
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

/** Opens a store's file, runs the work and closes it; SQLite errors become store errors. */
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
    throw toStoreError(error, path);
  }
}

/**
 * Reads the schema version of a store's file and verifies all of its pages.
 *
 * @throws AgentLightningError STORE_SCHEMA when it is damaged, is not a store, or was written by a newer version
 */
export function checkStoreFile(path: string): Promise<{ readonly schemaVersion: number }> {
  return withFile(path, { readOnly: true }, (database) => {
    const isStore = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").get();
    if (isStore === undefined) throw wrongFile(`${path} is a database but not a store`);
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

/** Size of a store on disk in bytes, with its write-ahead log. */
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

/** Creates an empty file that only this user can read, unless it exists. SQLite reports the errors. */
export async function createPrivateFile(path: string): Promise<void> {
  const file = await open(path, 'a', 0o600).catch(() => null);
  await file?.close();
}
