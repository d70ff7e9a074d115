import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { backupStore, migrateStore, openStore, restoreStore, vacuumStore } from '../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

test('backs up a consistent snapshot during writes', async () => {
  await using folder = await temporaryFolder();
  const [file, copy] = [join(folder.path, 'agl.db'), join(folder.path, 'deep', 'copy.db')];
  const store = await openStore(file);
  let isOver = false;
  const writing = (async () => {
    while (!isOver) await store.enqueueRollouts([{ input: 1 }, { input: 2 }]);
  })();
  const backup = await backupStore(`sqlite:${file}`, copy);
  isOver = true;
  await writing;
  await store.close();
  expect(backup).toMatchObject({ file: copy, bytes: (await readFile(copy)).length });
  expect(existsSync(`${copy}.partial`)).toBe(false);
  const restored = await openStore(copy);
  // Two came in together: half of them would be no moment there ever was.
  expect((await restored.queryRollouts()).total % 2).toBe(0);
  await restored.close();
});

test('overwrites neither a file with a backup nor a store with a restore, unless forced', async () => {
  await using folder = await temporaryFolder();
  const [file, copy] = [join(folder.path, 'agl.db'), join(folder.path, 'copy.db')];
  await storeWith(file, 'first');
  await backupStore(file, copy);
  await expect(backupStore(file, copy)).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(backupStore(file, file, { force: true })).rejects.toMatchObject({ code: 'CONFLICT' });
  await storeWith(file, 'second');
  await expect(restoreStore(copy, file)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(await inputsOf(file)).toEqual(['first', 'second']);
  await restoreStore(copy, file, { force: true });
  expect(await inputsOf(file)).toEqual(['first']);
});

test('reports a target that is not writable as such, not as a fault of the store', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  await storeWith(file, 'kept');
  const target = join(folder.path, 'copy.db');
  // In the way of the journal that a database is written with.
  await mkdir(`${target}.partial-journal`);
  await expect(backupStore(file, target)).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining(target),
  });
});

test('reports the folder in which a store cannot be created', async () => {
  await using folder = await temporaryFolder();
  const blocked = join(folder.path, 'letter', 'deep');
  await writeFile(join(folder.path, 'letter'), 'a file in the way');
  await expect(openStore(join(blocked, 'agl.db'))).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining(blocked),
  });
});

test('rejects a restore to an open store and from an invalid backup', async () => {
  await using folder = await temporaryFolder();
  const [file, copy, broken] = ['agl.db', 'copy.db', 'broken.db'].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  await storeWith(file, 'kept');
  await backupStore(file, copy);
  const open = await openStore(file);
  await expect(restoreStore(copy, file, { force: true })).rejects.toMatchObject({ code: 'CONFLICT' });
  await open.close();
  await writeFile(broken, (await readFile(copy)).subarray(0, 30_000));
  await expect(restoreStore(broken, file, { force: true })).rejects.toMatchObject({ code: 'STORE_SCHEMA' });
  await writeFile(broken, 'this is a letter, not a database. '.repeat(200));
  await expect(restoreStore(broken, file, { force: true })).rejects.toMatchObject({ code: 'STORE_SCHEMA' });
  await expect(restoreStore(join(folder.path, 'none'), file)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await inputsOf(file)).toEqual(['kept']);
});

test('restores over a damaged store', async () => {
  await using folder = await temporaryFolder();
  const [file, copy] = [join(folder.path, 'agl.db'), join(folder.path, 'copy.db')];
  await storeWith(file, 'kept');
  await backupStore(file, copy);
  await writeFile(file, 'nothing that anybody wrote');
  await expect(openStore(file)).rejects.toMatchObject({ code: 'STORE_SCHEMA' });
  await restoreStore(copy, file, { force: true });
  expect(await inputsOf(file)).toEqual(['kept']);
});

test('returns disk space', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const store = await openStore(file);
  const rollouts = await store.enqueueRollouts(Array.from({ length: 100 }, () => ({ input: 'x'.repeat(10_000) })));
  for (const { rolloutId } of rollouts) await store.updateRollout(rolloutId, { status: 'cancelled' });
  await store.deleteRollouts(rollouts.map(({ rolloutId }) => rolloutId));
  await store.close();
  const { bytesBefore, bytesAfter } = await vacuumStore(file);
  expect(bytesBefore).toBeGreaterThan(1_000_000);
  // Empty tables and the text index take about 300 kB.
  expect(bytesAfter).toBeLessThan(500_000);
  expect(await inputsOf(file)).toEqual([]);
});

test('reports pending migrations and applies them once', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  new DatabaseSync(file).close();
  const due = await migrateStore(file, { isDryRun: true });
  expect(due).toMatchObject({
    fromVersion: 0,
    migrations: expect.arrayContaining([{ version: 1, name: 'initial schema' }]),
  });
  expect(await migrateStore(file, { isDryRun: true })).toEqual(due);
  expect(await migrateStore(file)).toEqual(due);
  expect(await migrateStore(file)).toMatchObject({ fromVersion: due.toVersion, migrations: [] });
  await expect(migrateStore(join(folder.path, 'none'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('returns an alternative for stores that are not files', async () => {
  const location = 'postgres://user@localhost:1/agl';
  await expect(backupStore(location, 'x')).rejects.toMatchObject({
    code: 'CONFIG',
    remedy: expect.stringMatching(/pg_dump/),
  });
  await expect(restoreStore('/nowhere', ':memory:')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(vacuumStore(location)).rejects.toMatchObject({
    code: 'CONFIG',
    remedy: expect.stringMatching(/VACUUM/),
  });
});

async function storeWith(file: string, input: string): Promise<void> {
  const store = await openStore(file);
  await store.enqueueRollouts([{ input }]);
  await store.close();
}

async function inputsOf(file: string): Promise<readonly unknown[]> {
  const store = await openStore(file);
  const { items } = await store.queryRollouts();
  await store.close();
  return items.map((rollout) => rollout.input);
}
