import { describe, expect } from 'vitest';
import { claimOne, type StoreTest } from './store-test.ts';

/** Worker records. */
export function describeWorkers(test: StoreTest): void {
  describe('workers', () => {
    test('are created by their first heartbeat', async ({ store, clock }) => {
      expect(await store.getWorker('worker-1')).toBeNull();
      const worker = await store.updateWorker('worker-1', { memory: 12 });
      expect(worker).toEqual({
        workerId: 'worker-1',
        status: 'unknown',
        heartbeatStats: { memory: 12 },
        lastHeartbeatTimeMs: clock.now(),
        lastDequeueTimeMs: null,
        lastBusyTimeMs: null,
        lastIdleTimeMs: null,
        currentRolloutId: null,
        currentAttemptId: null,
      });
      expect(await store.getWorker('worker-1')).toEqual(worker);
    });

    test('keep their statistics on a heartbeat without statistics', async ({ store, clock }) => {
      await store.updateWorker('worker-1', { memory: 12 });
      await clock.advance(10);
      const worker = await store.updateWorker('worker-1');
      expect(worker).toMatchObject({ heartbeatStats: { memory: 12 }, lastHeartbeatTimeMs: clock.now() });
    });

    test('are busy during a claimed rollout, and idle afterwards', async ({ store, clock }) => {
      const { rolloutId, attempt } = await claimOne(store, {}, 'worker-1');
      expect(await store.getWorker('worker-1')).toMatchObject({
        status: 'busy',
        currentRolloutId: rolloutId,
        currentAttemptId: attempt.attemptId,
        lastDequeueTimeMs: clock.now(),
        lastBusyTimeMs: clock.now(),
      });
      await clock.advance(500);
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      expect(await store.getWorker('worker-1')).toMatchObject({
        status: 'idle',
        currentRolloutId: null,
        currentAttemptId: null,
        lastIdleTimeMs: clock.now(),
      });
    });

    test('stay busy while they have another attempt', async ({ store }) => {
      const first = await claimOne(store, {}, 'worker-1');
      const second = await claimOne(store, {}, 'worker-1');
      await store.updateAttempt(second.rolloutId, 'latest', { status: 'succeeded' });
      expect(await store.getWorker('worker-1')).toMatchObject({ status: 'busy', currentRolloutId: first.rolloutId });
    });

    test('are idle when the queue is empty', async ({ store, clock }) => {
      await store.claimRollouts({ workerId: 'worker-1' });
      expect(await store.getWorker('worker-1')).toMatchObject({ status: 'idle', lastDequeueTimeMs: clock.now() });
    });

    test('are unknown after they are abandoned', async ({ store }) => {
      const { rolloutId } = await claimOne(store, {}, 'worker-1');
      await store.updateAttempt(rolloutId, 'latest', { status: 'unresponsive' });
      expect(await store.getWorker('worker-1')).toMatchObject({ status: 'unknown', currentAttemptId: null });
    });

    test('are listed with filters and order', async ({ store }) => {
      await claimOne(store, {}, 'worker-b');
      await store.updateWorker('worker-c', {});
      await store.updateWorker('runner-a', {});
      const ids = async (query: Parameters<typeof store.queryWorkers>[0]): Promise<string[]> =>
        (await store.queryWorkers(query)).items.map((worker) => worker.workerId);
      expect(await ids({})).toEqual(['runner-a', 'worker-b', 'worker-c']);
      expect(await ids({ statusIn: ['busy'] })).toEqual(['worker-b']);
      expect(await ids({ workerIdContains: 'worker', sortBy: 'workerId', sortOrder: 'desc' })).toEqual([
        'worker-c',
        'worker-b',
      ]);
      expect(await ids({ statusIn: ['busy'], workerIdContains: 'runner', filterLogic: 'or' })).toEqual([
        'runner-a',
        'worker-b',
      ]);
    });
  });
}
