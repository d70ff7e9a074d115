import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JsonValue } from '@agentlightning/core';
import type { RolloutQuery } from '@agentlightning/core/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SqliteDriver } from '../src/drivers/sqlite.ts';
import { migrateStore, openStore } from '../src/index.ts';
import { migrate } from '../src/migrations/migrate.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';

const idPart = fc.constantFrom('ro-', 'r', 'ab', 'aB', '-', 'ä', '"', '*', 'é🙂', '%_', "'", 'AND', ' ', '0', '\\');
const textOf = (maxLength: number) => fc.array(idPart, { minLength: 1, maxLength }).map((parts) => parts.join(''));
const storedIdPart = fc.constantFrom('ro-', 'r', 'ab', 'aB', '-', '.', '_', ':', '@', 'AND', '0');
const rolloutId = fc
  .tuple(fc.constantFrom('r', 'ro-', 'A', '0'), fc.array(storedIdPart, { maxLength: 4 }))
  .map(([first, rest]) => first + rest.join(''));
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(1, '1', true, 'true', null, 'null', 0, false, '', 0.1, 0.1 + 0.2, 0.3, 1e300, -5, {}, []),
  fc.constantFrom<JsonValue>(['a', 1], { a: 1 }, 'ä"\\', 'x'.repeat(64), 'x'.repeat(65), `${'x'.repeat(65)}y`),
);
const name = fc.constantFrom('a', 'a ', 'b"c', 'ä', 'a.b', 'x'.repeat(70), `${'x'.repeat(70)}y`, '');
const metadata = fc.dictionary(name, value, { maxKeys: 3 });
const rollouts = fc.uniqueArray(fc.record({ rolloutId, metadata: fc.option(metadata), changed: fc.option(metadata) }), {
  selector: ({ rolloutId }) => rolloutId,
  minLength: 1,
  maxLength: 12,
});
const query = fc.record(
  {
    rolloutIdContains: textOf(3),
    metadata: fc.dictionary(name, value, { minKeys: 1, maxKeys: 2 }),
    statusIn: fc.constantFrom(['queuing'] as const, ['cancelled', 'failed'] as const),
    filterLogic: fc.constantFrom('and' as const, 'or' as const),
    sortBy: fc.constantFrom('startTimeMs' as const, 'rolloutId' as const),
    sortOrder: fc.constantFrom('asc' as const, 'desc' as const),
  },
  { requiredKeys: [] },
);

/**
 * Makes a list by pieces and fields, and compares every page of it with what plain JavaScript finds in the whole list.
 */
async function assertListsAreRight(location: string, runs: number): Promise<void> {
  const store = await openStore(location);
  const property = fc.asyncProperty(
    fc.boolean(),
    rollouts,
    fc.array(query, { minLength: 1, maxLength: 8 }),
    async (isIndexed, wanted, queries) => {
      await store.enqueueRollouts(
        wanted.map((rollout) => ({ input: 1, rolloutId: rollout.rolloutId, metadata: rollout.metadata })),
      );
      if (isIndexed) await migrateStore(location);
      for (const [index, { rolloutId, changed }] of wanted.entries()) {
        if (changed !== null) await store.updateRollout(rolloutId, { metadata: changed });
        if (index % 3 === 0) await store.updateRollout(rolloutId, { status: 'cancelled' });
      }
      await store.deleteRollouts(wanted.filter((_, index) => index % 6 === 0).map(({ rolloutId }) => rolloutId));
      for (const { sortBy = undefined, sortOrder = 'asc', ...filters } of queries) {
        const order = { sortOrder, ...(sortBy === undefined ? {} : { sortBy }) };
        const all = (await store.queryRollouts(order)).items;
        const expected = all.filter((rollout) => isWanted(rollout, filters)).map(({ rolloutId }) => rolloutId);
        for (const page of [{}, { limit: 2 }, { limit: 3, offset: 1 }]) {
          const { items, total } = await store.queryRollouts({ ...filters, ...order, ...page });
          const { limit = all.length, offset = 0 } = page as { limit?: number; offset?: number };
          expect(items.map(({ rolloutId }) => rolloutId)).toEqual(expected.slice(offset, offset + limit));
          expect(total).toBe(expected.length);
        }
      }
      const left = (await store.queryRollouts()).items.map(({ rolloutId }) => rolloutId);
      for (const rolloutId of left) await store.updateRollout(rolloutId, { status: 'cancelled' });
      await store.deleteRollouts(left);
    },
  );
  await fc.assert(property, { numRuns: runs });
  await store.close();
}

interface Listed {
  readonly rolloutId: string;
  readonly status: string;
  readonly metadata: Readonly<Record<string, JsonValue>> | null;
}

function isWanted(
  rollout: Listed,
  { rolloutIdContains, statusIn, filterLogic, metadata: fields = {} }: RolloutQuery,
): boolean {
  const filters = [
    ...(statusIn === undefined ? [] : [(statusIn as readonly string[]).includes(rollout.status)]),
    ...(rolloutIdContains === undefined ? [] : [rollout.rolloutId.includes(rolloutIdContains)]),
  ];
  const isFiltered = filterLogic === 'or' && filters.length > 0 ? filters.some(Boolean) : filters.every(Boolean);
  const has = rollout.metadata ?? {};
  return (
    isFiltered &&
    Object.entries(fields).every(
      ([key, wanted]) => Object.hasOwn(has, key) && JSON.stringify(has[key]) === JSON.stringify(wanted),
    )
  );
}

test('lists by part of the id and by metadata equal the filtered complete list', async () => {
  await using folder = await temporaryFolder();
  await assertListsAreRight(join(folder.path, 'agl.db'), 60);
});

describePostgres('PostgreSQL', () => {
  test('lists by part of the id and by metadata equal the filtered complete list', async () => {
    await using database = await createTestDatabase();
    await assertListsAreRight(database.url, 15);
  });
});

test.each([0.1, 0.3, [1, 2, 3], 'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(65), 'a\0b'])(
  'what is in the index of metadata in part only is counted rollout by rollout: %j',
  async (wanted) => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'agl.db');
    const store = await openStore(path);
    const others: JsonValue[] = [
      0.1 + 1e-17,
      0.1 + 2e-17,
      0.1 + 0.2,
      [1, 2],
      [1, 2, 3, 4],
      'x'.repeat(66),
      `${'x'.repeat(65)}y`,
      'a\0c',
      '0.1',
    ];
    await store.enqueueRollouts([wanted, ...others].map((kind) => ({ input: 1, metadata: { kind } })));
    const expected = [wanted, ...others].filter((kind) => JSON.stringify(kind) === JSON.stringify(wanted)).length;
    for (const state of ['on the list', 'indexed']) {
      if (state === 'indexed') await migrateStore(path);
      const { items, total } = await store.queryRollouts({ metadata: { kind: wanted }, limit: 5 });
      expect({ state, total, items: items.length }).toEqual({ state, total: expected, items: expected });
    }
    await store.close();
  },
);

test('a list is exact before, during and after the batches that index its rollouts', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'agl.db');
  const options = { path, durability: 'process', busyTimeoutMs: 5000, outsidePollMs: 50, maxSizeBytes: null } as const;
  const driver = await SqliteDriver.open(options);
  await migrate(driver, { nowMs: 0 });
  await driver.write((db) =>
    db.run(
      `INSERT INTO rollouts (rollout_id, status, max_attempts, retry_condition, start_time_ms, input, metadata)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
       SELECT printf('ro-%05d', i), 'failed', 1, '[]', i, '1', iif(i % 2 = 0, json_object('half', i % 4), NULL) FROM n`,
    ),
  );
  await driver.close();
  const breakOff = (): void => {
    throw new Error('killed');
  };
  await expect(migrateStore(path, { onIndexed: breakOff })).rejects.toThrow('killed');
  expect(countListed(path)).toBe(700);
  // One that is indexed, and one that is not.
  const other = new DatabaseSync(path);
  other.exec(`UPDATE rollouts SET metadata = '{"half":7}' WHERE rollout_id IN ('ro-00002', 'ro-01198');
    DELETE FROM rollouts WHERE rollout_id IN ('ro-00004', 'ro-01200')`);
  other.close();
  const seen: number[] = [];
  for (const state of ['in part', 'whole'] as const) {
    if (state === 'whole') await migrateStore(path, { onIndexed: (rollouts) => seen.push(rollouts) });
    const store = await openStore(path, { watchdogIntervalMs: 1e9 });
    expect((await store.queryRollouts({ metadata: { half: 0 }, limit: 1 })).total).toBe(298);
    expect((await store.queryRollouts({ metadata: { half: 2 }, limit: 1 })).total).toBe(298);
    expect(await store.queryRollouts({ metadata: { half: 7 } })).toMatchObject({
      items: [{ rolloutId: 'ro-00002' }, { rolloutId: 'ro-01198' }],
      total: 2,
    });
    expect((await store.queryRollouts({ rolloutIdContains: '-011', limit: 1 })).total).toBe(100);
    expect((await store.queryRollouts({ rolloutIdContains: '1200' })).total).toBe(0);
    await store.close();
  }
  expect(seen).toEqual([500, 700]);
  expect(countListed(path)).toBe(0);
});

test('an open store indexes new rollouts automatically', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'agl.db');
  const store = await openStore(path, { watchdogIntervalMs: 10 });
  await store.enqueueRollouts(Array.from({ length: 1100 }, (_, index) => ({ input: index, metadata: { index } })));
  await expect.poll(() => countListed(path), { timeout: 20_000 }).toBe(0);
  expect((await store.queryRollouts({ metadata: { index: 1099 } })).total).toBe(1);
  await store.close();
});

function countListed(path: string): unknown {
  const database = new DatabaseSync(path);
  const row = database.prepare('SELECT count(*) AS count FROM rollouts_to_index').get();
  database.close();
  return row?.['count'];
}
