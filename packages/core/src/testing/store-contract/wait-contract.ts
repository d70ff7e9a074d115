import { describe, expect } from 'vitest';
import { claimOne, enqueueOne, type StoreTest, statusOf } from './store-test.ts';

/** Waiting claims, and waits for rollouts to finish. */
export function describeWaits(test: StoreTest): void {
  describe('waiting claim', () => {
    test('returns a rollout enqueued during the wait', async ({ store, clock }) => {
      const waiting = store.claimRollouts({ waitMs: 60_000 });
      await clock.waitForSleepers(1);
      const { rolloutId } = await enqueueOne(store);
      expect(await waiting).toMatchObject([{ rolloutId, status: 'preparing' }]);
    });

    test('returns a requeued rollout', async ({ store, clock }) => {
      const { rolloutId } = await claimOne(store);
      const waiting = store.claimRollouts({ waitMs: 60_000 });
      await clock.waitForSleepers(1);
      await store.updateRollout(rolloutId, { status: 'requeuing' });
      expect(await waiting).toMatchObject([{ rolloutId, attempt: { sequenceId: 2 } }]);
    });

    test('returns nothing after the timeout', async ({ store, clock }) => {
      const waiting = store.claimRollouts({ waitMs: 5000 });
      await clock.waitForSleepers(1);
      await clock.advance(5000);
      expect(await waiting).toEqual([]);
    });

    test('returns nothing after an abort, and claims nothing later', async ({ store, clock }) => {
      const giveUp = new AbortController();
      const waiting = store.claimRollouts({ waitMs: 60_000, signal: giveUp.signal });
      await clock.waitForSleepers(1);
      giveUp.abort();
      expect(await waiting).toEqual([]);
      await untilNoSleepers(clock);
      const { rolloutId } = await enqueueOne(store);
      expect(await statusOf(store, rolloutId)).toBe('queuing');
    });

    test('serves every waiting claim with a different rollout', async ({ store, clock }) => {
      const waiting = Array.from({ length: 5 }, () => store.claimRollouts({ waitMs: 60_000 }));
      await clock.waitForSleepers(5);
      await store.enqueueRollouts([1, 2, 3, 4, 5].map((input) => ({ input })));
      const claimed = (await Promise.all(waiting)).flat();
      expect(new Set(claimed.map((rollout) => rollout.input))).toEqual(new Set([1, 2, 3, 4, 5]));
    });

    test('serves a claim of one run before earlier claims of another run', async ({ store, clock }) => {
      await store.createRun({ runId: 'run-1', name: 'one', config: {} });
      await store.createRun({ runId: 'run-2', name: 'two', config: {} });
      const other = store.claimRollouts({ waitMs: 60_000, runId: 'run-1' });
      await clock.waitForSleepers(1);
      const waiting = store.claimRollouts({ waitMs: 60_000, runId: 'run-2' });
      await clock.waitForSleepers(2);
      await enqueueOne(store, { runId: 'run-2' });
      expect(await waiting).toMatchObject([{ runId: 'run-2' }]);
      await enqueueOne(store, { runId: 'run-1' });
      expect(await other).toMatchObject([{ runId: 'run-1' }]);
    });
  });

  describe('wait for rollouts', () => {
    test('with timeout 0 returns the finished ones immediately, in the requested order', async ({ store }) => {
      const first = await claimOne(store);
      const second = await claimOne(store);
      const third = await claimOne(store);
      await store.updateAttempt(first.rolloutId, 'latest', { status: 'succeeded' });
      await store.updateAttempt(third.rolloutId, 'latest', { status: 'failed' });
      const ids = [third.rolloutId, second.rolloutId, first.rolloutId];
      const finished = await store.waitForRollouts(ids, { timeoutMs: 0 });
      expect(finished.map((rollout) => rollout.status)).toEqual(['failed', 'succeeded']);
    });

    test('resolves when the last one finishes', async ({ store, clock }) => {
      const first = await claimOne(store);
      const second = await claimOne(store);
      const waiting = store.waitForRollouts([first.rolloutId, second.rolloutId], { timeoutMs: 600_000 });
      await clock.waitForSleepers(1);
      await store.updateAttempt(first.rolloutId, 'latest', { status: 'succeeded' });
      await store.updateRollout(second.rolloutId, { status: 'cancelled' });
      expect((await waiting).map((rollout) => rollout.status)).toEqual(['succeeded', 'cancelled']);
    });

    test('wakes all waits for the same rollout', async ({ store, clock }) => {
      const { rolloutId } = await claimOne(store);
      const waiting = [1, 2, 3].map(() => store.waitForRollouts([rolloutId]));
      await clock.waitForSleepers(3);
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      expect((await Promise.all(waiting)).flat()).toHaveLength(3);
    });

    test('returns the finished ones after the timeout', async ({ store, clock }) => {
      const done = await claimOne(store);
      const open = await claimOne(store);
      const waiting = store.waitForRollouts([done.rolloutId, open.rolloutId], { timeoutMs: 5000 });
      await clock.waitForSleepers(1);
      await store.updateAttempt(done.rolloutId, 'latest', { status: 'succeeded' });
      await clock.advance(5000);
      expect(await waiting).toMatchObject([{ rolloutId: done.rolloutId }]);
    });

    test('returns the finished ones after an abort', async ({ store, clock }) => {
      const done = await claimOne(store);
      const open = await claimOne(store);
      const giveUp = new AbortController();
      const ids = [done.rolloutId, open.rolloutId];
      const waiting = store.waitForRollouts(ids, { signal: giveUp.signal });
      await clock.waitForSleepers(1);
      await store.updateAttempt(done.rolloutId, 'latest', { status: 'succeeded' });
      giveUp.abort();
      expect(await waiting).toMatchObject([{ rolloutId: done.rolloutId }]);
    });

    test('resolves immediately without ids', async ({ store }) => {
      expect(await store.waitForRollouts([])).toEqual([]);
    });

    test('deduplicates ids', async ({ store }) => {
      const { rolloutId } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      expect(await store.waitForRollouts([rolloutId, rolloutId])).toHaveLength(1);
    });

    test('rejects an unknown rollout', async ({ store }) => {
      await expect(store.waitForRollouts(['ro-unknown'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}

/** Resolves when an aborted wait has also ended on the server side. */
async function untilNoSleepers(clock: { readonly sleepers: number }): Promise<void> {
  const deadline = performance.now() + 5000;
  while (clock.sleepers > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(clock.sleepers).toBe(0);
}
