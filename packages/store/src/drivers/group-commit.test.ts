import { join } from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import type { SqlConnection } from '../sql/sql-driver.ts';
import { SqliteDriver } from './sqlite.ts';

test('rolls back only the failed write of a shared commit', async () => {
  await using open = await openTable();
  const outcomes = await Promise.allSettled(
    [1, 2, 3].map((value) =>
      open.driver.write(async (db) => {
        await insert(db, value);
        if (value === 2) throw new AgentLightningError({ code: 'CONFLICT', message: 'no' });
        return value;
      }),
    ),
  );
  expect(outcomes).toMatchObject([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: { code: 'CONFLICT' } },
    { status: 'fulfilled', value: 3 },
  ]);
  expect(await values(open.driver)).toEqual([1, 3]);
});

test('a failed read does not fail other reads of its group', async () => {
  await using open = await openTable();
  const [good, bad] = await Promise.allSettled([
    values(open.driver),
    open.driver.read((db) => db.all('SELECT * FROM nothing')),
  ]);
  expect(good).toMatchObject({ status: 'fulfilled', value: [] });
  expect(bad).toMatchObject({ status: 'rejected', reason: { code: 'INTERNAL' } });
});

test('a read sees the writes queued before it', async () => {
  await using open = await openTable();
  const writes = Promise.all([1, 2].map((value) => open.driver.write((db) => insert(db, value))));
  expect(await values(open.driver)).toEqual([1, 2]);
  await writes;
});

test('a full disk fails every write of a shared commit', async () => {
  await using open = await openTable(200_000);
  const outcomes = await Promise.allSettled(
    [1, 2].map((value) =>
      open.driver.write(async (db) => {
        await insert(db, value);
        if (value === 2) await db.run('INSERT INTO numbers (padding) VALUES (zeroblob(1000000))');
      }),
    ),
  );
  expect(outcomes.map(({ status }) => status)).toContain('rejected');
  const kept = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index + 1] : []));
  expect(await values(open.driver)).toEqual(kept);
});

test('close waits for queued work and rejects later work', async () => {
  await using open = await openTable();
  const write = open.driver.write((db) => insert(db, 7));
  const closed = open.driver.close();
  await expect(values(open.driver)).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  await Promise.all([write, closed]);
  const again = await SqliteDriver.open(open.options);
  expect(await values(again)).toEqual([7]);
  await again.close();
});

async function openTable(maxSizeBytes: number | null = null) {
  const folder = await temporaryFolder();
  const options = {
    path: join(folder.path, 'numbers.db'),
    durability: 'process',
    busyTimeoutMs: 1000,
    outsidePollMs: 1000,
    maxSizeBytes,
  } as const;
  const driver = await SqliteDriver.open(options);
  await driver.write((db) => db.run('CREATE TABLE numbers (value INTEGER, padding BLOB)'));
  return {
    driver,
    options,
    [Symbol.asyncDispose]: async () => {
      await driver.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function insert(db: SqlConnection, value: number): Promise<number> {
  return db.run('INSERT INTO numbers (value) VALUES (?)', [value]);
}

async function values(driver: SqliteDriver): Promise<readonly unknown[]> {
  const rows = await driver.read((db) => db.all('SELECT value FROM numbers WHERE value IS NOT NULL ORDER BY value'));
  return rows.map((row) => row.value);
}
