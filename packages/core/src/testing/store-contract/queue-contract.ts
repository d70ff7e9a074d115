import { describe, expect } from 'vitest';
import { defaultRolloutConfig } from '../../store/rollout.ts';
import { claimNext, claimOne, enqueueOne, type StoreTest, statusOf } from './store-test.ts';

/** Queue order and claims. */
export function describeQueue(test: StoreTest): void {
  describe('queue', () => {
    test('claims rollouts in FIFO order', async ({ store }) => {
      const rollouts = await store.enqueueRollouts([1, 2, 3].map((input) => ({ input })));
      const claimed = [...(await store.claimRollouts()), ...(await store.claimRollouts({ limit: 5 }))];
      expect(claimed.map((rollout) => rollout.rolloutId)).toEqual(rollouts.map((rollout) => rollout.rolloutId));
      expect(await store.claimRollouts()).toEqual([]);
    });

    test('opens the first attempt of a claimed rollout', async ({ store, clock }) => {
      const rollout = await enqueueOne(store);
      await clock.advance(1500);
      const claimed = await claimNext(store, rollout.rolloutId, 'worker-1');
      expect(claimed).toEqual({
        ...rollout,
        status: 'preparing',
        attempt: {
          rolloutId: rollout.rolloutId,
          attemptId: expect.stringMatching(/^at-[0-9a-f]{8}$/),
          sequenceId: 1,
          status: 'preparing',
          workerId: 'worker-1',
          startTimeMs: rollout.startTimeMs + 1500,
          endTimeMs: null,
          lastHeartbeatTimeMs: null,
          metadata: null,
        },
      });
    });

    test('sets defaults of an enqueued rollout', async ({ store, clock }) => {
      const [rollout] = await store.enqueueRollouts([{ input: null }]);
      expect(rollout).toEqual({
        rolloutId: expect.stringMatching(/^ro-[0-9a-f]{12}$/),
        input: null,
        status: 'queuing',
        mode: null,
        resourcesId: null,
        runId: null,
        config: defaultRolloutConfig,
        metadata: null,
        startTimeMs: clock.now(),
        endTimeMs: null,
      });
    });

    test('keeps all fields of an enqueued rollout', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      const { resourcesId } = await store.addResources({});
      const request = {
        rolloutId: 'ro-chosen',
        input: { text: 'naïve "quotes" \u0000 💡', list: [1, null, { deep: true }], number: -1.5e-7 },
        mode: 'val',
        resourcesId,
        runId: 'run-1',
        config: { timeoutMs: 1500, unresponsiveMs: 250, maxAttempts: 3, retryCondition: ['timeout', 'failed'] },
        metadata: { group: 'g1', step: 3 },
      } as const;
      const rollout = await enqueueOne(store, request);
      expect(rollout).toMatchObject(request);
      expect(await store.getRollout('ro-chosen')).toEqual(rollout);
    });

    test('returns the existing rollout for a known id', async ({ store }) => {
      const first = await enqueueOne(store, { rolloutId: 'ro-same', input: 1 });
      const again = await store.enqueueRollouts([
        { rolloutId: 'ro-same', input: 2 },
        { rolloutId: 'ro-other', input: 3 },
      ]);
      expect(again.map((rollout) => rollout.input)).toEqual([1, 3]);
      expect(again[0]).toEqual(first);
      expect(await store.claimRollouts({ limit: 9 })).toHaveLength(2);
    });

    test('enqueues atomically', async ({ store }) => {
      const requests = [{ input: 1 }, { input: 2, resourcesId: 'rs-unknown' }];
      await expect(store.enqueueRollouts(requests)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await store.queryRollouts()).toMatchObject({ items: [], total: 0 });
    });

    test('rejects an unknown run', async ({ store }) => {
      await expect(enqueueOne(store, { runId: 'run-unknown' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    test('rejects an invalid configuration', async ({ store }) => {
      await expect(enqueueOne(store, { config: { maxAttempts: 0 } })).rejects.toMatchObject({ code: 'VALIDATION' });
      await expect(enqueueOne(store, { config: { timeoutMs: -1 } })).rejects.toMatchObject({ code: 'VALIDATION' });
    });

    test('assigns the latest resources at the time of enqueueing', async ({ store }) => {
      const first = await store.addResources({});
      const early = await enqueueOne(store);
      const second = await store.addResources({});
      const late = await enqueueOne(store);
      expect([early.resourcesId, late.resourcesId]).toEqual([first.resourcesId, second.resourcesId]);
    });

    test('filters claims by run', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'one', config: {} });
      await store.createRun({ runId: 'run-2', name: 'two', config: {} });
      const first = await enqueueOne(store, { runId: 'run-1' });
      const second = await enqueueOne(store, { runId: 'run-2' });
      const claimed = await store.claimRollouts({ runId: 'run-2', limit: 5 });
      expect(claimed.map((rollout) => rollout.rolloutId)).toEqual([second.rolloutId]);
      expect((await store.claimRollouts({ limit: 5 })).map((rollout) => rollout.rolloutId)).toEqual([first.rolloutId]);
    });

    test('appends a requeued rollout to the queue once', async ({ store }) => {
      const returned = await claimOne(store);
      const other = await enqueueOne(store);
      await store.updateRollout(returned.rolloutId, { status: 'requeuing' });
      await store.updateRollout(returned.rolloutId, { status: 'queuing' });
      const claimed = await store.claimRollouts({ limit: 9 });
      expect(claimed.map((rollout) => rollout.rolloutId)).toEqual([other.rolloutId, returned.rolloutId]);
    });

    test('does not claim a cancelled rollout', async ({ store }) => {
      const { rolloutId } = await enqueueOne(store);
      await store.updateRollout(rolloutId, { status: 'cancelled' });
      expect(await store.claimRollouts()).toEqual([]);
      expect(await statusOf(store, rolloutId)).toBe('cancelled');
    });

    test('starts a rollout bypassing the queue', async ({ store }) => {
      const started = await store.startRollout({ input: 1, workerId: 'worker-1' });
      expect(started).toMatchObject({ status: 'preparing', attempt: { sequenceId: 1, workerId: 'worker-1' } });
      expect(await store.claimRollouts()).toEqual([]);
      expect(await store.getRollout(started.rolloutId)).toEqual(started);
    });
  });
}
