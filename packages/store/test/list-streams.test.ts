import type { Rollout } from '@agentlightning/core';
import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan } from '@agentlightning/core/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resolveQuotas } from '../src/attempt-quotas.ts';
import { SqliteDriver } from '../src/drivers/sqlite.ts';
import { createStoreServer, openStore, SqlStore } from '../src/index.ts';
import { migrate } from '../src/migrations/migrate.ts';
import { createStoreApp } from '../src/server/store-app.ts';
import { maxPageRows } from '../src/sql/list-pages.ts';
import type { SqlConnection, SqlDriver } from '../src/sql/sql-driver.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

/** Rows that each statement returned, in order; null stands for a turn of the event loop. */
let reads: (number | null)[];
let store: SqlStore;

beforeEach(async () => {
  const driver = await SqliteDriver.open({
    path: ':memory:',
    durability: 'process',
    busyTimeoutMs: 1000,
    outsidePollMs: 1000,
    maxSizeBytes: null,
  });
  await migrate(driver, { nowMs: 0 });
  reads = [];
  const counted = new Proxy(driver, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (property !== 'read') return typeof value === 'function' ? value.bind(target) : value;
      return (work: Parameters<SqlDriver['read']>[0]) => target.read((connection) => work(counting(connection)));
    },
  });
  store = new SqlStore(counted, {
    clock: { now: () => 1, sleep: () => new Promise<void>(() => undefined) },
    claimLeaseMs: 1e9,
    watchdogIntervalMs: 1e9,
    maxLostClaims: 10,
    retention: null,
    quotas: resolveQuotas({}),
  });
});
afterEach(() => store.close());

function counting(connection: SqlConnection): SqlConnection {
  return {
    ...connection,
    all: async (sql, parameters) => {
      const rows = await connection.all(sql, parameters);
      reads.push(rows.length);
      return rows;
    },
  };
}

async function enqueue(count: number, input = 'x'): Promise<readonly Rollout[]> {
  const rollouts: Rollout[] = [];
  for (let done = 0; done < count; done += 1000) {
    const size = Math.min(1000, count - done);
    rollouts.push(...(await store.enqueueRollouts(Array.from({ length: size }, () => ({ input })))));
  }
  return rollouts;
}

test('a list without a limit is read in pages, between which the event loop runs', async () => {
  const rollouts = await enqueue(4500);
  reads = [];
  let isDone = false;
  const turn = (): void => {
    reads.push(null);
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const page = await store.queryRollouts();
  isDone = true;
  expect(page).toEqual({ items: rollouts, limit: -1, offset: 0, total: 4500 });
  const sizes = reads.filter((read) => read !== null);
  expect(Math.max(...sizes)).toBe(maxPageRows);
  const rowsPerTurn = [0];
  for (const read of reads) read === null ? rowsPerTurn.push(0) : rowsPerTurn.push((rowsPerTurn.pop() ?? 0) + read);
  // A page, and the counts beside it.
  expect(Math.max(...rowsPerTurn)).toBeLessThan(maxPageRows + 20);
});

test('a list of large items is read in short pages', async () => {
  await enqueue(150, 'x'.repeat(200_000));
  reads = [];
  expect((await store.queryRollouts({ limit: 140 })).items).toHaveLength(140);
  expect(reads.filter((read) => read !== null && read > 1)).toEqual([100, 20, 20]);
});

test('a client that stops reading stops the reads of the server', async () => {
  const rollouts = await enqueue(20_000);
  const app = createStoreApp({
    store,
    apiKey: 'secret',
    maxBodyBytes: 1e6,
    heartbeatMs: 1e6,
    closing: new AbortController().signal,
    onFault: (error) => {
      throw error;
    },
  });
  const headers = { authorization: 'Bearer secret' };
  const request = (): Response | Promise<Response> => app.request('/v1/agl/rollouts?limit=-1', { headers });
  reads = [];
  const responses = await Promise.all([request(), request(), request(), request()]);
  const readers = responses.flatMap(({ body }) => body?.getReader() ?? []);
  for (const reader of readers) expect((await reader.read()).done).toBe(false);
  // Other requests are served meanwhile.
  expect((await store.getRollout(rollouts[0]?.rolloutId ?? '')).status).toBe('queuing');
  const rowsRead = reads.reduce<number>((sum, read) => sum + (read ?? 0), 0);
  expect(rowsRead).toBeLessThan(4 * 150);
  for (const reader of readers.slice(1)) await reader.cancel();
  const [first] = readers;
  const rest = [];
  for (let chunk = await first?.read(); chunk?.done === false; chunk = await first?.read()) rest.push(chunk.value);
  expect(
    Buffer.concat(rest)
      .toString()
      .match(/"rollout_id"/g),
  ).toHaveLength(20_000 - 100);
});

test.each(['asc', 'desc'] as const)(
  'pages follow each other without gaps where values are equal or absent, %s',
  async (sortOrder) => {
    const rollouts = await enqueue(1300);
    for (const [index, { rolloutId }] of rollouts.entries()) {
      if (index % 3 !== 0) await store.updateRollout(rolloutId, { mode: index % 3 === 1 ? 'train' : 'val' });
      if (index % 5 === 0) await store.updateRollout(rolloutId, { status: 'cancelled' });
    }
    for (const sortBy of ['mode', 'endTimeMs', 'status', 'rolloutId', undefined] as const) {
      for (const filter of [{}, { statusIn: ['queuing', 'cancelled'] }, { rolloutIdContains: 'ro-' }] as const) {
        const query = { sortOrder, ...filter, ...(sortBy === undefined ? {} : { sortBy }) };
        const whole = (await store.queryRollouts(query)).items.map(({ rolloutId }) => rolloutId);
        expect(new Set(whole).size).toBe(1300);
        // Pages that are short enough to be read by one statement.
        const pages: string[] = [];
        for (let offset = 0; offset < 1300; offset += 100) {
          const { items } = await store.queryRollouts({ ...query, offset, limit: 100 });
          pages.push(...items.map(({ rolloutId }) => rolloutId));
        }
        expect({ query, ids: whole }).toEqual({ query, ids: pages });
      }
    }
  },
);

test('a list over HTTP is complete and exact for any length', async () => {
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const spans = Array.from({ length: 2500 }, (_, index) =>
    aSpan({ rolloutId, attemptId: attempt.attemptId, spanId: `${index}`.padStart(16, '0'), sequenceId: index + 1 }),
  );
  await store.appendSpans(spans);
  const server = await createStoreServer({ store, port: 0 });
  const client = new StoreClient({ baseUrl: server.url });
  expect(await client.querySpans({ rolloutId })).toEqual({ items: spans, limit: -1, offset: 0, total: 2500 });
  expect((await client.querySpans({ rolloutId, limit: 2000, offset: 400 })).items).toEqual(spans.slice(400, 2400));
  expect((await client.querySpans({ rolloutId, sortOrder: 'desc' })).items).toEqual(spans.toReversed());
  await client.close();
  await server.close();
});

describePostgres('PostgreSQL', () => {
  test('pages follow each other without gaps where values are equal or absent', async () => {
    await using database = await createTestDatabase();
    const postgres = await openStore(database.url);
    const rollouts = await postgres.enqueueRollouts(Array.from({ length: 350 }, () => ({ input: 1 })));
    for (const { rolloutId } of rollouts.slice(0, 240)) await postgres.updateRollout(rolloutId, { mode: 'train' });
    for (const sortOrder of ['asc', 'desc'] as const) {
      for (const sortBy of ['mode', 'startTimeMs', 'endTimeMs', 'status'] as const) {
        const { items, total } = await postgres.queryRollouts({ sortBy, sortOrder });
        expect({ sortBy, total, items: new Set(items.map(({ rolloutId }) => rolloutId)).size }).toEqual({
          sortBy,
          total: 350,
          items: 350,
        });
      }
    }
    await postgres.close();
  });
});
