import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { SqliteDriver } from '../src/drivers/sqlite.ts';
import { migrateStore, openStore } from '../src/index.ts';
import { migrate, migrations } from '../src/migrations/migrate.ts';
import { temporaryFolder } from './temporary-folder.ts';

const driverOptions = { durability: 'process', busyTimeoutMs: 5000, outsidePollMs: 50, maxSizeBytes: null } as const;

test('reopens a store with all of its content', async () => {
  await using folder = await temporaryFolder();
  const location = `sqlite:${join(folder.path, 'deep', 'inside', 'agl.db')}`;
  const first = await openStore(location);
  const [rollout] = await first.enqueueRollouts([{ input: 'kept' }]);
  await first.close();
  const second = await openStore(location);
  expect((await second.queryRollouts()).items).toEqual([rollout]);
  await second.close();
});

test('rejects a store of a newer version and leaves it unchanged', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  await (await openStore(file)).close();
  execute(
    file,
    "INSERT INTO schema_migrations (version, name, time_ms, digest) VALUES (999, 'from the future', 0, '')",
  );
  await expect(openStore(file)).rejects.toMatchObject({
    code: 'STORE_SCHEMA',
    message: expect.stringContaining('999'),
  });
  execute(file, 'DELETE FROM schema_migrations WHERE version = 999');
  await (await openStore(file)).close();
});

test.each([
  ["UPDATE schema_migrations SET digest = 'of other tables'"],
  ['ALTER TABLE schema_migrations DROP COLUMN digest'],
])('rejects a store whose schema had other tables: %s', async (change) => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  await (await openStore(file)).close();
  execute(file, change);
  const rejected = { code: 'STORE_SCHEMA', remedy: expect.stringContaining('agl store export') };
  await expect(openStore(file)).rejects.toMatchObject(rejected);
  await expect(migrateStore(file, { isDryRun: true })).rejects.toMatchObject(rejected);
});

test('rejects foreign databases and files that are not databases', async () => {
  await using folder = await temporaryFolder();
  const foreign = join(folder.path, 'foreign.db');
  execute(foreign, 'CREATE TABLE notes (text TEXT)');
  await expect(openStore(foreign)).rejects.toMatchObject({
    code: 'STORE_SCHEMA',
    message: expect.stringContaining('notes'),
  });
  const text = join(folder.path, 'text.db');
  await writeFile(text, 'this is a letter, not a database. '.repeat(200));
  await expect(openStore(text)).rejects.toMatchObject({ code: 'STORE_SCHEMA' });
});

test('rejects a location that is not writable, and an unknown kind of store', async () => {
  await using folder = await temporaryFolder();
  await expect(openStore(folder.path)).rejects.toMatchObject({ code: 'CONFIG' });
  await expect(openStore('mysql://localhost/agl')).rejects.toMatchObject({ code: 'VALIDATION' });
});

test('migrates once when several processes open a new store at the same time', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const stores = await Promise.all(Array.from({ length: 5 }, () => openStore(file)));
  await Promise.all(stores.map((store) => store.close()));
  const versions = new DatabaseSync(file).prepare('SELECT version FROM schema_migrations').all();
  expect(versions).toHaveLength(migrations.length);
});

test('applies new migrations in order, and none of them when one fails', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const driver = await SqliteDriver.open({ ...driverOptions, path: file });
  await migrate(driver, { nowMs: 0 });
  const next = migrations.length + 1;
  const good = { version: next, name: 'good', statements: () => ['CREATE TABLE extra (a TEXT)'] };
  const bad = { version: next + 1, name: 'bad', statements: () => ['CREATE TABLE more (a TEXT)', 'CREATE NONSENSE'] };
  await expect(migrate(driver, { nowMs: 0, migrations: [...migrations, good, bad] })).rejects.toMatchObject({
    code: 'INTERNAL',
  });
  await migrate(driver, { nowMs: 0 });
  await migrate(driver, { nowMs: 0, migrations: [...migrations, good] });
  const rows = await driver.read((connection) =>
    connection.all('SELECT version FROM schema_migrations ORDER BY version'),
  );
  expect(rows.at(-1)).toMatchObject({ version: next });
  await driver.close();
});

test('upgrades a store of the current schema and keeps its contents', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const store = await openStore(file);
  const [rollout] = await store.enqueueRollouts([{ input: 'kept' }]);
  await store.close();
  const driver = await SqliteDriver.open({ ...driverOptions, path: file });
  const version = migrations.length + 1;
  const next = {
    version,
    name: 'next schema',
    statements: () => ["ALTER TABLE rollouts ADD COLUMN colour TEXT NOT NULL DEFAULT 'none'"],
  };
  await migrate(driver, { nowMs: 7, migrations: [...migrations, next] });
  const rows = await driver.read((db) => db.all('SELECT rollout_id, input, colour FROM rollouts'));
  expect(rows).toEqual([expect.objectContaining({ rollout_id: rollout?.rolloutId, input: '"kept"', colour: 'none' })]);
  const versions = await driver.read((db) => db.all('SELECT version, name, time_ms FROM schema_migrations'));
  expect(versions.at(-1)).toMatchObject({ version, name: 'next schema', time_ms: 7 });
  await driver.close();
  await expect(openStore(file)).rejects.toMatchObject({ code: 'STORE_SCHEMA' });
});

function execute(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}
