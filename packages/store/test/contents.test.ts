import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import type { Span, Store } from '@agentlightning/core';
import { aSpan } from '@agentlightning/core/testing';
import { describe, expect, test } from 'vitest';
import { SqliteDriver } from '../src/drivers/sqlite.ts';
import { openStore, type SqlStore } from '../src/index.ts';
import { migrate, migrations } from '../src/migrations/migrate.ts';
import type { StoreTransaction } from '../src/sql/store-transaction.ts';
import { createTestDatabase, type TestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A store and the rows of its tables. */
interface Opened extends AsyncDisposable {
  readonly store: SqlStore;
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

const backends: readonly { readonly declare: typeof describe; readonly open: () => Promise<Opened> }[] = [
  { declare: describe, open: openSqlite },
  { declare: describePostgres as typeof describe, open: openPostgres },
];

async function openSqlite(): Promise<Opened> {
  const folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const store = await openStore(file);
  const database = new DatabaseSync(file, { readOnly: true });
  return {
    store,
    rows: async (sql) => database.prepare(sql).all(),
    [Symbol.asyncDispose]: async () => {
      database.close();
      await store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function openPostgres(): Promise<Opened> {
  const database = await createTestDatabase();
  const store = await openStore(database.url);
  return {
    store,
    rows: database.execute,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

for (const { declare, open } of backends) {
  declare(open === openSqlite ? 'SQLite' : 'PostgreSQL', () => {
    test('an image is stored once, by its digest, for all spans and inputs', async () => {
      await using opened = await open();
      const { store, rows } = opened;
      const rolloutIds: string[] = [];
      for (let index = 0; index < 8; index += 1) {
        const rollout = await store.startRollout({ input: { image: url(one) } });
        rolloutIds.push(rollout.rolloutId);
        for (let turn = 0; turn < 3; turn += 1) await store.appendSpans([turnSpan(rollout, [one, one, other])]);
      }
      const stored = [one, other].map((content) => ({ digest: digestOf(content), content }));
      expect(await rows('SELECT digest, content FROM contents ORDER BY digest')).toEqual(stored.toSorted(byDigest));
      expect(await rows('SELECT DISTINCT rollout_id FROM content_references')).toHaveLength(8);
      const [size] = await rows('SELECT max(length(body)) AS body FROM spans');
      expect(Number(size?.['body'])).toBeLessThan(1000);
      const [inputs] = await rows('SELECT max(length(input)) AS input FROM rollouts');
      expect(Number(inputs?.['input'])).toBeLessThan(200);
      for (const { spans } of await store.readTraces(rolloutIds)) {
        expect(spans.map(({ attributes }) => attributes)).toEqual([1, 2, 3].map(() => attributesOf([one, one, other])));
      }
    });

    test('an image is deleted with the last rollout that has it', async () => {
      await using opened = await open();
      const { store, rows } = opened;
      for (const runId of ['run-1', 'run-2']) {
        await store.createRun({ runId, name: runId, config: {} });
        const rollout = await store.startRollout({ input: 1, runId });
        await store.appendSpans([turnSpan(rollout, runId === 'run-1' ? [one, other] : [one])]);
      }
      await store.deleteRun('run-1', { force: true });
      expect(await rows('SELECT digest FROM contents')).toEqual([{ digest: digestOf(one) }]);
      await store.updateRollout((await store.queryRollouts()).items[0]?.rolloutId ?? '', { status: 'cancelled' });
      await store.updateRun('run-2', { status: 'finished' });
      await store.applyRetention({ keepRuns: 0 });
      expect(await rows('SELECT digest FROM contents')).toEqual([]);
      expect(await rows('SELECT digest FROM content_references')).toEqual([]);
    });

    test('a rejected batch leaves no image', async () => {
      await using opened = await open();
      const { store, rows } = opened;
      const rollout = await store.startRollout({ input: 1 });
      const transaction = store.once({ key: 'request', requestHash: '' }, async (operations) => {
        await operations.appendSpans([turnSpan(rollout, [one])]);
        throw new Error('interrupted');
      });
      await expect(transaction).rejects.toThrow('interrupted');
      expect(await rows('SELECT digest FROM contents')).toEqual([]);
      expect(await rows('SELECT digest FROM content_references')).toEqual([]);
    });

    test('the words of a search are not those of images', async () => {
      await using opened = await open();
      const { store } = opened;
      const rollout = await store.startRollout({ input: { image: url(one), question: 'animal' } });
      // Larger than the texts that are indexed together.
      const large = 'AAAA'.repeat(100_000);
      await store.appendSpans([turnSpan(rollout, [one, large], 'a zebra')]);
      await store.updateAttempt(rollout.rolloutId, 'latest', { status: 'succeeded' });
      for (const [text, total] of [
        ['zebra animal', 1],
        ['sha256', 0],
        [digestOf(large), 0],
      ] as const) {
        expect({ text, ...(await store.searchRollouts({ text })) }).toMatchObject({ text, total, unindexed: 0 });
      }
    });
  });
}

test('a store of 20 turns with an image grows by one image', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  await (await openStore(file)).close();
  const before = (await stat(file)).size;
  const store = await openStore(file);
  const rollout = await store.startRollout({ input: 1 });
  const image = Buffer.alloc(2 ** 20, 'a picture').toString('base64');
  for (let turn = 0; turn < 20; turn += 1) await store.appendSpans([turnSpan(rollout, [image])]);
  await store.close();
  const grown = (await stat(file)).size - before;
  expect(grown).toBeGreaterThan(image.length);
  expect(grown).toBeLessThan(image.length + 2 ** 18);
});

test('reports a missing image, and no other span is lost', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const store = await openStore(file);
  const [damaged, intact] = [await store.startRollout({ input: 1 }), await store.startRollout({ input: 2 })];
  await store.appendSpans([turnSpan(damaged, [one]), turnSpan(intact, [other])]);
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA foreign_keys = OFF; DELETE FROM contents WHERE digest = '${digestOf(one)}'`);
  database.close();
  await expect(store.querySpans({ rolloutId: damaged.rolloutId })).rejects.toMatchObject({
    code: 'STORE_SCHEMA',
    message: expect.stringContaining(digestOf(one)),
  });
  expect((await store.querySpans({ rolloutId: intact.rolloutId })).items).toHaveLength(1);
  await store.close();
});

test('spans of a store of the former schema are read, and not changed', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const options = { durability: 'process', busyTimeoutMs: 5000, outsidePollMs: 50, maxSizeBytes: null } as const;
  const driver = await SqliteDriver.open({ ...options, path: file });
  await migrate(driver, { nowMs: 0, migrations: migrations.slice(0, 1) });
  await driver.close();
  const body = JSON.stringify({
    ...{ status: { code: 'OK', message: null }, attributes: attributesOf([one, '\\u0073ha256:']) },
    ...{ events: [], links: [], resource: { attributes: {}, schemaUrl: '' } },
  });
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA foreign_keys = OFF;
    INSERT INTO rollouts (rollout_id, status, max_attempts, retry_condition, start_time_ms, input)
      VALUES ('ro-1', 'running', 1, '[]', 1, '1');
    INSERT INTO attempts (rollout_id, attempt_id, sequence_id, status, start_time_ms) VALUES ('ro-1', 'at-1', 1, 'running', 1);`);
  database
    .prepare(
      "INSERT INTO spans (rollout_id, attempt_id, span_id, sequence_id, trace_id, name, body) VALUES ('ro-1', 'at-1', 's', 1, 't', 'step', ?)",
    )
    .run(body);
  const store = await openStore(file);
  const read = async (): Promise<Span | undefined> => (await store.querySpans({ rolloutId: 'ro-1' })).items[0];
  expect((await read())?.attributes).toEqual(attributesOf([one, '\\u0073ha256:']));
  expect(database.prepare('SELECT body FROM spans').get()).toEqual({ body });
  database.close();
  await store.close();
});

describePostgres('concurrent transactions on PostgreSQL', () => {
  test.each(['record first', 'delete first'])('record and delete the same image: %s', async (order) => {
    await using database = await createTestDatabase();
    const store = await openStore(database.url, { poolSize: 4 });
    const [last, next] = [await store.startRollout({ input: 1 }), await store.startRollout({ input: 2 })];
    await store.appendSpans([turnSpan(last, [one])]);
    await store.updateAttempt(last.rolloutId, 'latest', { status: 'succeeded' });
    const record = (transaction: StoreTransaction): Promise<unknown> =>
      transaction.appendSpans([turnSpan(next, [one])]);
    const remove = (transaction: StoreTransaction): Promise<unknown> => transaction.deleteRollouts([last.rolloutId]);
    const [first, second] = order === 'record first' ? [record, remove] : [remove, record];
    let waiting: Promise<unknown> = Promise.resolve();
    await store.once({ key: 'request', requestHash: '' }, async (transaction) => {
      await first(transaction);
      waiting = second(store);
      await untilBlocked(database);
      return {};
    });
    await waiting;
    const [{ spans } = fail()] = await store.readTraces([next.rolloutId]);
    expect(spans.map(({ attributes }) => attributes)).toEqual([attributesOf([one])]);
    expect(await database.execute('SELECT digest FROM content_references')).toEqual([{ digest: digestOf(one) }]);
    await store.close();
  });

  test('delete the last two rollouts with an image', async () => {
    await using database = await createTestDatabase();
    const store = await openStore(database.url, { poolSize: 4 });
    const rollouts = [await store.startRollout({ input: 1 }), await store.startRollout({ input: 2 })];
    for (const rollout of rollouts) {
      await store.appendSpans([turnSpan(rollout, [one])]);
      await store.updateAttempt(rollout.rolloutId, 'latest', { status: 'succeeded' });
    }
    let waiting: Promise<unknown> = Promise.resolve();
    await store.once({ key: 'request', requestHash: '' }, async (transaction) => {
      await transaction.deleteRollouts([rollouts[0]?.rolloutId ?? '']);
      waiting = store.deleteRollouts([rollouts[1]?.rolloutId ?? '']);
      await untilBlocked(database);
      return {};
    });
    await waiting;
    expect(await database.execute('SELECT digest FROM contents')).toEqual([]);
    await store.close();
  });
});

/** Resolves when a transaction waits for a lock of another one. */
async function untilBlocked(database: TestDatabase): Promise<void> {
  const blocked = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  while ((await database.execute(blocked)).length === 0) await setImmediate();
}

const [one, other] = ['iVBORw0KGgo+/', '/9j/4AAQSkZJ'].map((part) => `${part.repeat(200)}==`) as [string, string];
const url = (content: string): string => `data:image/png;base64,${content}`;
const digestOf = (content: string): string => createHash('sha256').update(content).digest('hex');

function byDigest(first: { readonly digest: string }, second: { readonly digest: string }): number {
  return first.digest < second.digest ? -1 : 1;
}

function attributesOf(contents: readonly string[], text = ''): Span['attributes'] {
  const images = contents.map((content) => ({ type: 'image_url', image_url: { url: url(content) } }));
  return {
    'agentlightning.request_body': JSON.stringify({ messages: [{ role: 'user', content: [text, ...images] }] }),
  };
}

/** A call whose request has these images. */
function turnSpan(
  { rolloutId, attempt }: Awaited<ReturnType<Store['startRollout']>>,
  contents: readonly string[],
  text?: string,
): Omit<Span, 'sequenceId'> {
  const { attemptId } = attempt;
  const { sequenceId: _, ...span } = aSpan({ rolloutId, attemptId, attributes: attributesOf(contents, text) });
  return span;
}

function fail(): never {
  throw new Error('not found');
}
