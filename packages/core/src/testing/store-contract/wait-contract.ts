import { describe, expect } from 'vitest';
import { claimOne, enqueueOne, type StoreTest, statusOf } from './store-test.ts';

/** Waiting: for work, and for rollouts to end. */
export function describeWaits(test: StoreTest): void {
  describe('waiting for work', () => {
    test('ends with a rollout that is enqueued meanwhile', async ({ store, clock }) => {
      const waiting = store.claimRollouts({ waitMs: 60_000 });
      await clock.waitForSleepers(1);
      const { rolloutId } = await enqueueOne(store);
      expect(await waiting).toMatchObject([{ rolloutId, status: 'preparing' }]);
    });

    test('ends with a rollout that returns to the queue', async ({ store, clock }) => {
      const { rolloutId } = await claimOne(store);
      const waiting = store.claimRollouts({ waitMs: 60_000 });
      await clock.waitForSleepers(1);
      await store.updateRollout(rolloutId, { status: 'requeuing' });
      expect(await waiting).toMatchObject([{ rolloutId, attempt: { sequenceId: 2 } }]);
    });

    test('ends with nothing when the time is up', async ({ store, clock }) => {
      const waiting = store.claimRollouts({ waitMs: 5000 });
      await clock.waitForSleepers(1);
      await clock.advance(5000);
      expect(await waiting).toEqual([]);
    });

    test('ends with nothing when the caller gives up, and claims nothing after that', async ({ store, clock }) => {
      const giveUp = new AbortController();
      const waiting = store.claimRollouts({ waitMs: 60_000, signal: giveUp.signal });
      await clock.waitForSleepers(1);
      giveUp.abort();
      expect(await waiting).toEqual([]);
      await untilNobodySleeps(clock);
      const { rolloutId } = await enqueueOne(store);
      expect(await statusOf(store, rolloutId)).toBe('queuing');
    });

    test('serves everybody who waits, each with a rollout of its own', async ({ store, clock }) => {
      const waiting = Array.from({ length: 5 }, () => store.claimRollouts({ waitMs: 60_000 }));
      await clock.waitForSleepers(5);
      await store.enqueueRollouts([1, 2, 3, 4, 5].map((input) => ({ input })));
      const claimed = (await Promise.all(waiting)).flat();
      expect(new Set(claimed.map((rollout) => rollout.input))).toEqual(new Set([1, 2, 3, 4, 5]));
    });

    test('lets one who waits for a run past those who wait for another', async ({ store, clock }) => {
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

  describe('waiting for rollouts to end', () => {
    test('gives the finished ones at once when it may not wait, in the order asked for', async ({ store }) => {
      const first = await claimOne(store);
      const second = await claimOne(store);
      const third = await claimOne(store);
      await store.updateAttempt(first.rolloutId, 'latest', { status: 'succeeded' });
      await store.updateAttempt(third.rolloutId, 'latest', { status: 'failed' });
      const ids = [third.rolloutId, second.rolloutId, first.rolloutId];
      const finished = await store.waitForRollouts(ids, { timeoutMs: 0 });
      expect(finished.map((rollout) => rollout.status)).toEqual(['failed', 'succeeded']);
    });

    test('ends when the last one ends', async ({ store, clock }) => {
      const first = await claimOne(store);
      const second = await claimOne(store);
      const waiting = store.waitForRollouts([first.rolloutId, second.rolloutId], { timeoutMs: 600_000 });
      await clock.waitForSleepers(1);
      await store.updateAttempt(first.rolloutId, 'latest', { status: 'succeeded' });
      await store.updateRollout(second.rolloutId, { status: 'cancelled' });
      expect((await waiting).map((rollout) => rollout.status)).toEqual(['succeeded', 'cancelled']);
    });

    test('wakes everybody who waits for the same rollout', async ({ store, clock }) => {
      const { rolloutId } = await claimOne(store);
      const waiting = [1, 2, 3].map(() => store.waitForRollouts([rolloutId]));
      await clock.waitForSleepers(3);
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      expect((await Promise.all(waiting)).flat()).toHaveLength(3);
    });

    test('ends with what is finished when the time is up', async ({ store, clock }) => {
      const done = await claimOne(store);
      const open = await claimOne(store);
      const waiting = store.waitForRollouts([done.rolloutId, open.rolloutId], { timeoutMs: 5000 });
      await clock.waitForSleepers(1);
      await store.updateAttempt(done.rolloutId, 'latest', { status: 'succeeded' });
      await clock.advance(5000);
      expect(await waiting).toMatchObject([{ rolloutId: done.rolloutId }]);
    });

    test('ends with what is finished when the caller gives up', async ({ store, clock }) => {
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

    test('has nothing to wait for when nothing is asked for', async ({ store }) => {
      expect(await store.waitForRollouts([])).toEqual([]);
    });

    test('counts a rollout that is asked for twice once', async ({ store }) => {
      const { rolloutId } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      expect(await store.waitForRollouts([rolloutId, rolloutId])).toHaveLength(1);
    });

    test('refuses a rollout that does not exist', async ({ store }) => {
      await expect(store.waitForRollouts(['ro-unknown'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}

/** Resolves when a wait that its caller ended has come to its end on the other side of a network too. */
async function untilNobodySleeps(clock: { readonly sleepers: number }): Promise<void> {
  const deadline = performance.now() + 5000;
  while (clock.sleepers > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(clock.sleepers).toBe(0);
}
