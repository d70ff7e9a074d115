import { describe, expect } from 'vitest';
import { aSpan } from '../a-span.ts';
import { claimOne, enqueueOne, type StoreTest } from './store-test.ts';

/** Invariants under concurrency. */
export function describeConcurrency(test: StoreTest): void {
  describe('concurrency', () => {
    test('every rollout is claimed exactly once', async ({ store }) => {
      const rollouts = await store.enqueueRollouts(Array.from({ length: 60 }, (_, input) => ({ input })));
      const claims = Array.from({ length: 40 }, (_, index) =>
        store.claimRollouts({ workerId: `worker-${index}`, limit: 2 }),
      );
      const claimed = (await Promise.all(claims)).flat().map((rollout) => rollout.rolloutId);
      expect(claimed.toSorted()).toEqual(rollouts.map((rollout) => rollout.rolloutId).toSorted());
    });

    test('concurrent enqueues and waiting claims match', async ({ store }) => {
      const waiting = Array.from({ length: 20 }, () => store.claimRollouts({ waitMs: 60_000 }));
      const enqueued = await Promise.all(Array.from({ length: 20 }, (_, input) => enqueueOne(store, { input })));
      const claimed = (await Promise.all(waiting)).flat().map((rollout) => rollout.rolloutId);
      expect(claimed.toSorted()).toEqual(enqueued.map((rollout) => rollout.rolloutId).toSorted());
    });

    test('sequence ids are unique and without gaps', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const { attemptId } = attempt;
      const batches = Array.from({ length: 20 }, async (_, index) => {
        if (index % 2 === 0) return store.nextSpanSequenceIds([{ rolloutId, attemptId }]);
        const { sequenceId: _first, ...first } = aSpan({ rolloutId, attemptId });
        const { sequenceId: _second, ...second } = aSpan({ rolloutId, attemptId });
        return (await store.appendSpans([first, second])).map((span) => span?.sequenceId ?? 0);
      });
      const numbers = (await Promise.all(batches)).flat().toSorted((left, right) => left - right);
      expect(numbers).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
    });

    test('a span sent concurrently is recorded once', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const span = aSpan({ rolloutId, attemptId: attempt.attemptId });
      const results = await Promise.all(Array.from({ length: 10 }, () => store.appendSpans([span])));
      expect(results.flat().filter((result) => result !== null)).toHaveLength(1);
    });

    test('a run is created once', async ({ store }) => {
      const creations = Array.from({ length: 5 }, () => store.createRun({ runId: 'run-1', name: 'x', config: {} }));
      const outcomes = await Promise.allSettled(creations);
      expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
    });

    test('a rollout enqueued concurrently under one id is created once', async ({ store }) => {
      await Promise.all(Array.from({ length: 5 }, (_, input) => enqueueOne(store, { rolloutId: 'ro-same', input })));
      expect(await store.claimRollouts({ limit: 9 })).toHaveLength(1);
    });

    test('concurrent retry and result give a consistent state', async ({ store }) => {
      const { rolloutId } = await claimOne(store);
      await Promise.allSettled([
        store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' }),
        store.updateRollout(rolloutId, { status: 'cancelled' }),
        store.updateRollout(rolloutId, { status: 'requeuing' }),
      ]);
      const { status } = await store.getRollout(rolloutId);
      const isQueued = (await store.claimRollouts()).length === 1;
      expect(isQueued).toBe(status === 'requeuing');
    });
  });
}
