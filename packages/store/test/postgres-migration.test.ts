import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { PostgresDriver } from '../src/drivers/postgres.ts';
import { openStore } from '../src/index.ts';
import { migrate, migrations } from '../src/migrations/migrate.ts';
import { runFixture } from './fixtures/run-fixture.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';

const expectedVersions = migrations.map(({ version }) => ({ version }));

test('several processes that open a new SQLite file at the same time migrate it once', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  expect(await openTogether(file)).toEqual([0, 0, 0, 0]);
  const rows = new DatabaseSync(file).prepare('SELECT version FROM schema_migrations ORDER BY version').all();
  expect(rows).toMatchObject(expectedVersions);
});

describePostgres('PostgreSQL', () => {
  test('several processes that open a new database at the same time migrate it once', async () => {
    await using database = await createTestDatabase();
    expect(await openTogether(database.url)).toEqual([0, 0, 0, 0]);
    expect(await database.execute(versions)).toEqual(expectedVersions);
  });

  test('keeps its content, and rejects a newer schema, which stays unchanged', async () => {
    await using database = await createTestDatabase();
    const first = await openStore(database.url);
    const [rollout] = await first.enqueueRollouts([{ input: 'kept' }]);
    await first.close();
    const row = "(999, 'from the future', 0, '')";
    await database.execute(`INSERT INTO schema_migrations (version, name, time_ms, digest) VALUES ${row}`);
    await expect(openStore(database.url)).rejects.toMatchObject({
      code: 'STORE_SCHEMA',
      message: expect.stringContaining('999'),
    });
    await database.execute('DELETE FROM schema_migrations WHERE version = 999');
    const second = await openStore(database.url);
    expect((await second.queryRollouts()).items).toEqual([rollout]);
    await second.close();
  });

  test('works without the trigram index where the extension cannot be added', async () => {
    await using database = await createTestDatabase();
    await database.execute('CREATE ROLE limited LOGIN');
    await database.execute('GRANT ALL ON SCHEMA public TO limited');
    const store = await openStore(database.url.replace(/\/\/[^@]+@/, '//limited@'));
    await store.enqueueRollouts([{ input: 1, rolloutId: 'ro-abc' }]);
    expect(await store.queryRollouts({ rolloutIdContains: 'abc' })).toMatchObject({ total: 1 });
    await store.close();
    const index = "SELECT to_regclass('rollouts_by_id_piece') AS index";
    expect(await database.execute(index)).toEqual([{ index: null }]);
    await using other = await createTestDatabase();
    await (await openStore(other.url)).close();
    expect(await other.execute(index)).toEqual([{ index: 'rollouts_by_id_piece' }]);
  });

  test('rejects the database of another application', async () => {
    await using database = await createTestDatabase();
    await database.execute('CREATE TABLE notes (text TEXT)');
    await expect(openStore(database.url)).rejects.toMatchObject({
      code: 'STORE_SCHEMA',
      message: expect.stringContaining('notes'),
    });
  });

  test('applies no new migration when one of them fails', async () => {
    await using database = await createTestDatabase();
    const driver = await PostgresDriver.open({
      url: database.url,
      poolSize: 2,
      unreachableAfterMs: 5000,
      maxSizeBytes: null,
    });
    await migrate(driver, { nowMs: 0 });
    const next = migrations.length + 1;
    const good = { version: next, name: 'good', statements: () => ['CREATE TABLE extra (a TEXT)'] };
    const bad = { version: next + 1, name: 'bad', statements: () => ['CREATE NONSENSE'] };
    await expect(migrate(driver, { nowMs: 0, migrations: [...migrations, good, bad] })).rejects.toMatchObject({
      code: 'INTERNAL',
    });
    expect(await database.execute(versions)).toEqual(expectedVersions);
    expect(await database.execute("SELECT to_regclass('extra') AS extra")).toEqual([{ extra: null }]);
    await driver.close();
  });

  test('keeps using its prepared statements while another process changes the tables', async () => {
    await using database = await createTestDatabase();
    const store = await openStore(database.url, { poolSize: 1 });
    await store.updateWorker('worker-1');
    await database.execute('ALTER TABLE workers ADD COLUMN more TEXT');
    expect(await store.getWorker('worker-1')).toMatchObject({ workerId: 'worker-1' });
    await store.close();
  });

  test('reports what is wrong with an address', async () => {
    await using database = await createTestDatabase();
    const elsewhere = database.url.replace(/[^/]+$/, 'no_such_database');
    await expect(openStore(elsewhere)).rejects.toMatchObject({ code: 'CONFIG' });
    const unknownUser = database.url.replace('postgres@', 'unknown-user:secret@');
    const refusal = await openStore(unknownUser).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'CONFIG' });
    expect(String(refusal)).not.toContain('secret');
    await expect(openStore('postgres://[broken')).rejects.toMatchObject({ code: 'VALIDATION' });
    const nothingThere = openStore('postgres://127.0.0.1:1/agl', { unreachableAfterMs: 50 });
    await expect(nothingThere).rejects.toMatchObject({ code: 'UNREACHABLE' });
    // A password with a slash that should have been encoded: what is before it is taken for host and port.
    const unencoded = openStore('postgres://127.0.0.1:1/secret@db/agl', { unreachableAfterMs: 50 });
    const unreachable = await unencoded.catch((error: unknown) => error);
    expect(unreachable).toMatchObject({ code: 'UNREACHABLE' });
    expect(String(unreachable)).not.toContain('secret');
  });
});

const versions = 'SELECT version FROM schema_migrations ORDER BY version';

/** Opens a store in several processes at once, and gives back their exit codes. */
async function openTogether(location: string): Promise<readonly (number | null)[]> {
  const openers = [1, 2, 3, 4].map(() => runFixture('open-and-close.ts', [location]));
  await Promise.all(openers.map((opener) => opener.said(1)));
  return Promise.all(openers.map((opener) => opener.end()));
}
