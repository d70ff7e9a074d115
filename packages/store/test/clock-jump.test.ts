import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ManualClock } from '@agentlightning/core/testing';
import { expect, test, vi } from 'vitest';
import { openStore, type SqlStore } from '../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

const dayMs = 86_400_000;
const yearMs = 365 * dayMs;
const startMs = 1_700_000_000_000;

test.each([
  {
    name: 'ends nothing because the clock is a year ahead after a restart, and gives everybody their time again',
    beforeMs: startMs,
    afterMs: startMs + yearMs,
  },
  {
    name: 'waits no year because the clock was a year ahead and is set back',
    beforeMs: startMs + yearMs,
    afterMs: startMs,
  },
])('$name', async ({ beforeMs, afterMs }) => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const before = await open(file, beforeMs);
  const ids = await startThree(before.store);
  await before.isWatched();
  await before.store.close();

  const after = await open(file, afterMs);
  await after.watchdogHasLooked();
  expect(await statuses(after.store, ids)).toEqual(['preparing', 'running', 'running']);
  await after.pass(61_000);
  await vi.waitFor(async () => expect(await statuses(after.store, ids)).toEqual(['requeuing', 'failed', 'failed']));
  await after.store.close();
});

test('restarts timeouts after a clock jump, such as after a suspend', async () => {
  await using folder = await temporaryFolder();
  const running = await open(join(folder.path, 'agl.db'), startMs);
  const ids = await startThree(running.store);
  await running.isWatched();
  await running.pass(dayMs);
  await running.watchdogHasLooked();
  expect(await statuses(running.store, ids)).toEqual(['preparing', 'running', 'running']);
  await running.store.close();
});

test('pauses automatic deletion for an hour after a clock jump', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const before = await open(file, startMs);
  const id = await finishOne(before.store);
  await before.isWatched();
  await before.store.close();

  const wrong = await open(file, startMs + yearMs);
  await wrong.watchdogHasLooked();
  expect(await statuses(wrong.store, [id])).toEqual(['succeeded']);
  for (let minutes = 0; minutes < 60; minutes += 4) await wrong.pass(240_000);
  await vi.waitFor(() => expect(wrong.store.getRollout(id)).rejects.toMatchObject({ code: 'NOT_FOUND' }));
  await wrong.store.close();
});

test('applies its retention policy automatically', async () => {
  await using folder = await temporaryFolder();
  const opened = await open(join(folder.path, 'agl.db'), startMs);
  const id = await finishOne(opened.store);
  for (let passedMs = 0; passedMs < dayMs - 240_000; passedMs += 240_000) await opened.pass(240_000);
  await opened.watchdogHasLooked();
  expect(await statuses(opened.store, [id])).toEqual(['succeeded']);
  for (let minutes = 0; minutes < 12; minutes += 4) await opened.pass(240_000);
  await vi.waitFor(() => expect(opened.store.getRollout(id)).rejects.toMatchObject({ code: 'NOT_FOUND' }));
  await opened.store.close();
});

/** A store with a manual clock and a retention of one day. */
async function open(file: string, nowMs: number): Promise<OpenedStore> {
  const clock = new ManualClock(nowMs);
  const store = await openStore(file, { clock, watchdogIntervalMs: 1, retention: { olderThanMs: dayMs } });
  const isWatched = (): Promise<void> => vi.waitFor(() => expect(seenMs(file)).toBe(clock.now()), { interval: 1 });
  await isWatched();
  return {
    store,
    isWatched,
    pass: async (ms) => {
      await clock.advance(ms);
      await isWatched();
    },
    watchdogHasLooked: async () => {
      const started = await store.startRollout({ input: 'watched', config: { timeoutMs: 0 } });
      await clock.advance(1);
      await store.waitForRollouts([started.rolloutId]);
    },
  };
}

interface OpenedStore {
  readonly store: SqlStore;
  /** Resolves when the watchdog has noted the time it is now. */
  readonly isWatched: () => Promise<void>;
  /** Lets time pass under the eyes of the watchdog. */
  readonly pass: (ms: number) => Promise<void>;
  /** Resolves when the watchdog has ended what it ends now. */
  readonly watchdogHasLooked: () => Promise<void>;
}

/** One that was claimed and never heard of, one with a limit of a minute, and one with a limit to its silence. */
async function startThree(store: SqlStore): Promise<readonly string[]> {
  const rollouts = await store.enqueueRollouts([
    { input: 1 },
    { input: 2, config: { timeoutMs: 60_000 } },
    { input: 3, config: { unresponsiveMs: 60_000 } },
  ]);
  await store.claimRollouts({ limit: 3 });
  const ids = rollouts.map(({ rolloutId }) => rolloutId);
  for (const id of ids.slice(1)) await store.updateAttempt(id, 'latest', { status: 'running' });
  return ids;
}

async function finishOne(store: SqlStore): Promise<string> {
  const { rolloutId } = await store.startRollout({ input: 1 });
  await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
  return rolloutId;
}

function statuses(store: SqlStore, ids: readonly string[]): Promise<readonly string[]> {
  return Promise.all(ids.map(async (id) => (await store.getRollout(id)).status));
}

function seenMs(file: string): unknown {
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database.prepare('SELECT seen_ms FROM store_time').get();
  database.close();
  return row?.['seen_ms'];
}

test.each([-3_600_000, 3_600_000])(
  'a heartbeat has the time of the store, not of a worker that is off by %d ms',
  async (skewMs) => {
    const clock = new ManualClock();
    const store = await openStore(':memory:', { clock, watchdogIntervalMs: 100 });
    const { rolloutId, attempt } = await store.startRollout({ input: 1, config: { unresponsiveMs: 5000 } });
    const { attemptId } = attempt;
    await store.updateAttempt(rolloutId, attemptId, { status: 'running' });
    const heartbeat = { lastHeartbeatTimeMs: clock.now() + skewMs };
    expect(await store.updateAttempt(rolloutId, attemptId, heartbeat)).toMatchObject({
      lastHeartbeatTimeMs: clock.now(),
    });
    await store.close();
  },
);
