import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { RolloutSearch } from '@agentlightning/core/store';
import { aSpan } from '@agentlightning/core/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ChangeFeed } from '../src/changes/change-feed.ts';
import { SqliteDriver } from '../src/drivers/sqlite.ts';
import { migrateStore, openStore } from '../src/index.ts';
import { migrate } from '../src/migrations/migrate.ts';
import { searchRollouts } from '../src/operations/rollouts/search-rollouts.ts';
import { TransactionRunner } from '../src/sql/operation-runner.ts';
import type { SqlConnection } from '../src/sql/sql-driver.ts';
import { rolloutWords } from '../src/text-search/rollout-words.ts';
import { temporaryFolder } from './temporary-folder.ts';

const driverOptions = { durability: 'process', busyTimeoutMs: 5000, outsidePollMs: 50, maxSizeBytes: null } as const;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let path: string;
let driver: SqliteDriver;

beforeAll(async () => {
  folder = await temporaryFolder();
  path = join(folder.path, 'agl.db');
  driver = await manyRollouts(path);
});

afterAll(async () => {
  await driver.close();
  await folder[Symbol.asyncDispose]();
});

/** A store of 5,000 finished rollouts: one in 50 has the word `rare`, all have the word `common`. */
async function manyRollouts(file: string): Promise<SqliteDriver> {
  const filled = await SqliteDriver.open({ ...driverOptions, path: file });
  await migrate(filled, { nowMs: 0 });
  await filled.write(async (db) => {
    await db.run(
      `INSERT INTO runs (run_id, name, status, config, state, create_time_ms, update_time_ms)
       VALUES ('run-1', '', 'running', '{}', '{}', 0, 0)`,
    );
    await db.run(
      `INSERT INTO rollouts (rollout_id, run_id, status, mode, max_attempts, retry_condition, start_time_ms, input, reward)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
       SELECT printf('ro-%05d', i), 'run-1', iif(i % 100 = 0, 'failed', 'succeeded'), 'train', 1, '[]', i,
         iif(i % 50 = 0, '"common rare"', '"common"'), i % 10 / 10.0 FROM n`,
    );
    await db.run('INSERT INTO rollouts_to_search (position) SELECT position FROM rollouts');
  });
  await migrateStore(file);
  return filled;
}

test.each<[RolloutSearch, string]>([
  [{ sortBy: 'reward' }, 'SEARCH rollouts_by_reward'],
  [{ sortBy: 'reward', runId: 'run-1' }, 'SEARCH rollouts_by_run_and_reward'],
  [
    { sortBy: 'reward', runId: 'run-1', statusIn: ['succeeded'], modeIn: ['train'] },
    'SEARCH rollouts_by_run_and_reward',
  ],
  [{ sortBy: 'reward', runId: 'run-1', sortOrder: 'asc', minReward: 0.2 }, 'SEARCH rollouts_by_run_and_reward'],
  [{ minReward: 0.5, maxReward: 0.6, runId: 'run-1' }, 'SEARCH rollouts_by_run'],
  [{ runId: 'run-1' }, 'SEARCH rollouts_by_run'],
  [{ text: 'rare' }, 'SCAN rollout_words VIRTUAL TABLE'],
  [{ text: 'common rare', runId: 'run-1', sortBy: 'reward' }, 'SCAN rollout_words VIRTUAL TABLE'],
])('finds the rollouts of a page by an index: %j', async (search, step) => {
  const statements: { readonly sql: string; readonly parameters: readonly unknown[] }[] = [];
  const recording = (db: SqlConnection): SqlConnection => ({
    ...db,
    all: (sql, parameters = []) => {
      statements.push({ sql, parameters });
      return db.all(sql, parameters);
    },
  });
  const runner = new TransactionRunner({
    driver: Object.assign(Object.create(driver) as SqliteDriver, {
      dialect: driver.dialect,
      read: <TResult>(work: (db: SqlConnection) => Promise<TResult>) => driver.read((db) => work(recording(db))),
    }),
    clock: { now: () => 0 } as never,
    feed: new ChangeFeed(),
    quotas: {} as never,
  });
  const first = await runner.read((context) => searchRollouts(context, { ...search, limit: 10 }));
  expect(first.items).toHaveLength(10);
  const pages = [statements.splice(0)];
  await runner.read((context) => searchRollouts(context, { ...search, limit: 10, cursor: first.nextCursor ?? '' }));
  pages.push(statements.splice(0));
  using database = new DatabaseSync(path);
  for (const page of pages) {
    const list = page.find(({ sql }) => sql.includes('keyset_key'));
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${list?.sql}`).all(...((list?.parameters ?? []) as string[]));
    const steps = plan.map(({ detail }) => String(detail).replace(/r USING (?:COVERING )?INDEX /, ''));
    expect(steps).toContainEqual(expect.stringContaining(step));
    expect(steps.filter((each) => /^SCAN r\b/.test(each))).toEqual([]);
  }
  // The total is part of the cursor.
  expect(pages[1]?.filter(({ sql }) => sql.includes('count(*)') && sql.includes('FROM rollouts AS r'))).toEqual([]);
});

test('a search indexes texts first, in batches, and returns how many are left', async () => {
  const database = new DatabaseSync(path);
  database.exec('INSERT INTO rollouts_to_search (position) SELECT position FROM rollouts; DELETE FROM rollout_words');
  database.close();
  const store = await openStore(path, { watchdogIntervalMs: 1e9 });
  const lefts: number[] = [];
  for (let left = 1; left > 0; ) {
    const { unindexed, total } = await store.searchRollouts({ text: 'common', limit: 1 });
    expect(total).toBe(5000 - unindexed);
    left = unindexed;
    lefts.push(left);
  }
  expect(lefts.length).toBeGreaterThan(2);
  expect(lefts).toEqual(lefts.toSorted((one, other) => other - one));
  await store.close();
});

test('the words of a rollout are those of texts, not of names, ids, files and numbers of tokens', () => {
  const spans = [
    aSpan({
      name: 'tool',
      attributes: {
        'gen_ai.response.id': 'chatcmpl-hidden',
        prompt_token_ids: [11, 22],
        'agentlightning.request_body': JSON.stringify({
          messages: [
            { content: 'Hello ÄRGER e\u0301te\u0301' },
            { content: [{ image_url: { url: `data:image/png;base64,${'AAAA'.repeat(500)}` } }] },
            { tool_calls: [{ function: { arguments: '{"part":"U2","count":7}' } }] },
          ],
        }),
      },
      status: { code: 'ERROR', message: 'it broke' },
    }),
    aSpan({ name: 'agentlightning.training', attributes: { secret: 'advantage' } }),
  ];
  expect(rolloutWords({ question: ['What?', 12.5, true] }, { attempt: null, spans }).toSorted()).toEqual(
    ['12', '5', '7', 'ärger', 'broke', 'hello', 'it', 'tool', 'u2', 'what', 'été'].toSorted(),
  );
});

test('the words of a rollout are limited', () => {
  const empty = { attempt: null, spans: [] };
  const text = Array.from({ length: 200_000 }, (_, index) => `word${index}`).join(' ');
  const words = rolloutWords(text, empty);
  expect(words.join('').length).toBeLessThan(200_000);
  expect(words.length).toBeGreaterThan(15_000);
  expect(rolloutWords('x'.repeat(10_000), empty)).toEqual(['x'.repeat(64)]);
  // Deep JSON neither fails nor blocks.
  expect(rolloutWords('['.repeat(100_000) + ']'.repeat(100_000), empty)).toEqual([]);
});
