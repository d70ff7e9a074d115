import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ManualClock } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { openStore } from '../src/index.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';

test('a key is returned once; the store keeps its record and digest', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const clock = new ManualClock();
  const store = await openStore(file, { clock });
  expect(await store.hasAccessKeys()).toBe(false);
  const { key, record } = await store.createAccessKey({ name: 'runners', role: 'worker', lifetimeMs: 5000 });
  expect(key).toMatch(new RegExp(`^aglk_${record.keyId}_[\\w-]{43}$`));
  expect(record).toEqual({
    keyId: expect.stringMatching(/^[0-9a-f]{12}$/),
    name: 'runners',
    role: 'worker',
    project: 'default',
    createTimeMs: clock.now(),
    expireTimeMs: clock.now() + 5000,
    revokeTimeMs: null,
  });
  expect(await store.listAccessKeys()).toEqual([record]);
  expect(await store.hasAccessKeys()).toBe(true);
  await store.close();
  const rows = new DatabaseSync(file).prepare('SELECT * FROM access_keys').all();
  expect(JSON.stringify(rows)).not.toContain(key.slice(-43));
});

test('a revoked key remains in the list, and is revoked once', async () => {
  const clock = new ManualClock();
  const store = await openStore(':memory:', { clock });
  const { record } = await store.createAccessKey({ name: 'one', role: 'admin' });
  const revoked = await store.revokeAccessKey(record.keyId);
  expect(revoked).toEqual({ ...record, revokeTimeMs: clock.now() });
  await clock.advance(1000);
  expect(await store.revokeAccessKey(record.keyId)).toEqual(revoked);
  expect(await store.listAccessKeys()).toEqual([revoked]);
  expect(await store.hasAccessKeys()).toBe(true);
  await expect(store.revokeAccessKey('000000000000')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await store.close();
});

test.each([
  [{ name: '', role: 'admin' }, 'name'],
  [{ name: 'n'.repeat(201), role: 'admin' }, 'name'],
  [{ name: 'n', role: 'admin', project: 'a' }, 'is not of admin keys'],
  [{ name: 'n', role: 'viewer', project: 'A/b' }, 'lower-case letters'],
  [{ name: 'n', role: 'god' }, 'must be one of admin, trainer, worker, viewer, ingest, feedback, got god'],
  [{ name: 'n', role: 'admin', lifetimeMs: 0 }, 'lifetimeMs'],
  [{ name: 'n', role: 'admin', lifetimeMs: Number.NaN }, 'lifetimeMs'],
])('a key is not made of %j', async (request, reason) => {
  const store = await openStore(':memory:');
  const made = store.createAccessKey(request as Parameters<typeof store.createAccessKey>[0]);
  await expect(made).rejects.toThrow(reason);
  expect(await store.listAccessKeys()).toEqual([]);
  await store.close();
});

describePostgres('on PostgreSQL', () => {
  test('keys behave the same, and are valid for all servers of the database', async () => {
    await using database = await createTestDatabase();
    const clock = new ManualClock();
    const [one, other] = await Promise.all([openStore(database.url, { clock }), openStore(database.url, { clock })]);
    expect(await other.hasAccessKeys()).toBe(false);
    const { key, record } = await one.createAccessKey({ name: 'Zoë', role: 'trainer', lifetimeMs: 1000 });
    expect(await other.hasAccessKeys()).toBe(true);
    expect(await other.findAccessKey(record.keyId)).toEqual({
      record,
      digest: createHash('sha256').update(key).digest('hex'),
    });
    const revoked = { ...record, revokeTimeMs: clock.now() };
    expect(await other.revokeAccessKey(record.keyId)).toEqual(revoked);
    expect(await one.listAccessKeys()).toEqual([revoked]);
    expect(await one.findAccessKey('000000000000')).toBeNull();
    await Promise.all([one.close(), other.close()]);
  });
});
