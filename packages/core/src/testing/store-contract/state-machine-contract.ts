import { describe, expect } from 'vitest';
import type { AttemptStatus } from '../../store/attempt.ts';
import { attemptFailureOrigin } from '../../store/failure-origin.ts';
import { aSpan } from '../a-span.ts';
import { claimNext, claimOne, enqueueOne, type StoreTest, statusOf } from './store-test.ts';

/** Status transitions of rollouts and attempts. */
export function describeStateMachine(test: StoreTest): void {
  describe('state machine', () => {
    for (const status of ['succeeded', 'failed'] as const) {
      test(`ends a rollout as ${status} with its latest attempt`, async ({ store, clock }) => {
        const { rolloutId } = await claimOne(store);
        await clock.advance(2000);
        const attempt = await store.updateAttempt(rolloutId, 'latest', { status });
        expect(attempt).toMatchObject({ status, endTimeMs: clock.now() });
        expect(await store.getRollout(rolloutId)).toMatchObject({ status, endTimeMs: clock.now() });
      });
    }

    for (const outcome of ['failed', 'timeout', 'unresponsive'] as const) {
      test(`retries after ${outcome} while the retry policy permits`, async ({ store }) => {
        const config = { maxAttempts: 2, retryCondition: [outcome] };
        const { rolloutId } = await claimOne(store, { config });
        const attempt = await store.updateAttempt(rolloutId, 'latest', { status: outcome });
        expect(attempt.endTimeMs).not.toBeNull();
        expect(await store.getRollout(rolloutId)).toMatchObject({ status: 'requeuing', endTimeMs: null });
        expect((await claimNext(store, rolloutId)).attempt.sequenceId).toBe(2);
        await store.updateAttempt(rolloutId, 'latest', { status: outcome });
        expect(await statusOf(store, rolloutId)).toBe('failed');
        expect(await store.claimRollouts()).toEqual([]);
      });
    }

    test('fails a rollout whose attempt outcome is not retried', async ({ store }) => {
      const { rolloutId } = await claimOne(store, { config: { maxAttempts: 5, retryCondition: ['timeout'] } });
      await store.updateAttempt(rolloutId, 'latest', { status: 'failed' });
      expect(await statusOf(store, rolloutId)).toBe('failed');
    });

    test('sets a rollout to running with its attempt', async ({ store }) => {
      const { rolloutId } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'running' });
      expect(await statusOf(store, rolloutId)).toBe('running');
    });

    test('changes the rollout only with its latest attempt', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      await store.updateRollout(rolloutId, { status: 'requeuing' });
      await claimNext(store, rolloutId);
      await store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' });
      expect(await statusOf(store, rolloutId)).toBe('preparing');
    });

    test('keeps a rollout queued after a late span of its returned attempt', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'running' });
      await store.updateRollout(rolloutId, { status: 'requeuing' });
      await store.appendSpans([aSpan({ rolloutId, attemptId: attempt.attemptId })]);
      expect(await statusOf(store, rolloutId)).toBe('requeuing');
      expect((await claimNext(store, rolloutId)).attempt.sequenceId).toBe(2);
    });

    test('keeps a rollout queued after a late failure of its returned attempt', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store, { config: { maxAttempts: 1 } });
      await store.updateAttempt(rolloutId, 'latest', { status: 'running' });
      await store.updateRollout(rolloutId, { status: 'requeuing' });
      const failed = await store.updateAttempt(rolloutId, attempt.attemptId, { status: 'failed' });
      expect(failed.status).toBe('failed');
      expect(await statusOf(store, rolloutId)).toBe('requeuing');
      expect((await claimNext(store, rolloutId)).attempt.sequenceId).toBe(2);
    });

    test('does not change a finished rollout on a late result', async ({ store, clock }) => {
      const { rolloutId } = await claimOne(store);
      await store.updateRollout(rolloutId, { status: 'cancelled' });
      const cancelledAtMs = clock.now();
      await clock.advance(1000);
      const attempt = await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded', metadata: { late: true } });
      expect(attempt).toMatchObject({ status: 'succeeded', metadata: { late: true } });
      expect(await store.getRollout(rolloutId)).toMatchObject({ status: 'cancelled', endTimeMs: cancelledAtMs });
    });

    test('applies a second result to the attempt, not to the rollout', async ({ store }) => {
      const { rolloutId } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      expect(await store.updateAttempt(rolloutId, 'latest', { status: 'failed' })).toMatchObject({ status: 'failed' });
      expect(await statusOf(store, rolloutId)).toBe('succeeded');
    });

    test('does not cancel a pending retry on a late result', async ({ store }) => {
      const config = { maxAttempts: 2, retryCondition: ['timeout'] as AttemptStatus[] };
      const { rolloutId } = await claimOne(store, { config });
      await store.updateAttempt(rolloutId, 'latest', { status: 'timeout' });
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      expect(await statusOf(store, rolloutId)).toBe('requeuing');
    });

    test('does not restart a finished attempt', async ({ store }) => {
      const { rolloutId } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'failed' });
      const update = store.updateAttempt(rolloutId, 'latest', { status: 'running' });
      await expect(update).rejects.toMatchObject({ code: 'ILLEGAL_TRANSITION' });
    });

    test('rejects an invalid transition of a finished rollout without changes', async ({ store }) => {
      const { rolloutId } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      const update = store.updateRollout(rolloutId, { status: 'requeuing', metadata: { changed: true } });
      await expect(update).rejects.toMatchObject({ code: 'ILLEGAL_TRANSITION' });
      expect(await store.getRollout(rolloutId)).toMatchObject({ status: 'succeeded', metadata: null });
    });

    for (const status of ['failed', 'cancelled'] as const) {
      test(`reopens a ${status} rollout by explicit requeueing`, async ({ store }) => {
        const { rolloutId } = await claimOne(store);
        await store.updateRollout(rolloutId, { status });
        const reopened = await store.updateRollout(rolloutId, { status: 'requeuing' });
        expect(reopened).toMatchObject({ status: 'requeuing', endTimeMs: null });
        expect((await claimNext(store, rolloutId)).attempt.sequenceId).toBe(2);
      });
    }

    test('closes the open attempt of a requeued rollout without counting it', async ({ store }) => {
      const config = { maxAttempts: 2, retryCondition: ['failed'] as AttemptStatus[] };
      const { rolloutId, attempt } = await claimOne(store, { config });
      await store.updateRollout(rolloutId, { status: 'requeuing' });
      const { items } = await store.queryAttempts(rolloutId);
      expect(items).toMatchObject([{ attemptId: attempt.attemptId, status: 'unresponsive' }]);
      expect(items[0]?.endTimeMs).not.toBeNull();
      await claimNext(store, rolloutId);
      await store.updateAttempt(rolloutId, 'latest', { status: 'failed' });
      expect(await statusOf(store, rolloutId)).toBe('requeuing');
    });

    for (const [status, attemptStatus] of [
      ['cancelled', 'failed'],
      ['failed', 'failed'],
      ['succeeded', 'succeeded'],
    ] as const) {
      test(`closes the open attempt of a rollout explicitly set to ${status}`, async ({ store }) => {
        const { rolloutId } = await claimOne(store);
        await store.updateRollout(rolloutId, { status });
        const attempt = await store.getLatestAttempt(rolloutId);
        expect(attempt).toMatchObject({ status: attemptStatus });
        expect(attempt?.endTimeMs).not.toBeNull();
      });
    }

    for (const status of ['queuing', 'preparing', 'running', 'requeuing'] as const) {
      test(`cancels a ${status} rollout: its attempts are closed and it cannot be claimed`, async ({
        store,
        clock,
      }) => {
        const { rolloutId } = await enqueueOne(store);
        if (status !== 'queuing') await claimNext(store, rolloutId);
        if (status === 'running') await store.updateAttempt(rolloutId, 'latest', { status: 'running' });
        if (status === 'requeuing') await store.updateRollout(rolloutId, { status: 'requeuing' });
        expect(await statusOf(store, rolloutId)).toBe(status);
        await clock.advance(10);
        const cancelled = await store.updateRollout(rolloutId, { status: 'cancelled' });
        expect(cancelled).toMatchObject({ status: 'cancelled', endTimeMs: clock.now() });
        const { items } = await store.queryAttempts(rolloutId);
        expect(items.map((attempt) => attempt.endTimeMs)).not.toContain(null);
        expect(await store.claimRollouts()).toEqual([]);
        // Its runner is notified on its next request: a heartbeat does not revive the attempt.
        const late = store.updateAttempt(rolloutId, 'latest', { status: 'running' });
        if (status !== 'queuing' && status !== 'requeuing')
          await expect(late).rejects.toMatchObject({ code: 'ILLEGAL_TRANSITION' });
        else await late.catch(() => undefined);
        expect(await statusOf(store, rolloutId)).toBe('cancelled');
      });
    }

    test('an attempt of a cancelled rollout does not count as a failure of its agent when the rollout is run again', async ({
      store,
    }) => {
      const config = { maxAttempts: 2, retryCondition: ['failed'] as AttemptStatus[] };
      const { rolloutId, attempt } = await claimOne(store, { config });
      await store.updateRollout(rolloutId, { status: 'cancelled' });
      await store.updateRollout(rolloutId, { status: 'requeuing' });
      await claimNext(store, rolloutId);
      const { items } = await store.queryAttempts(rolloutId);
      const cancelled = items.find(({ attemptId }) => attemptId === attempt.attemptId);
      expect(cancelled).toMatchObject({ status: 'failed', metadata: { error: { code: 'CANCELLED' } } });
      expect(cancelled === undefined ? null : attemptFailureOrigin(cancelled)).toBe('infrastructure');
      await store.updateAttempt(rolloutId, 'latest', { status: 'failed' });
      expect(await statusOf(store, rolloutId)).toBe('requeuing');
    });

    test('opens another attempt explicitly, regardless of the retry policy', async ({ store }) => {
      const { rolloutId } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'failed' });
      const again = await store.startAttempt(rolloutId, 'worker-2');
      expect(again).toMatchObject({
        status: 'preparing',
        endTimeMs: null,
        attempt: { sequenceId: 2, workerId: 'worker-2' },
      });
      expect(await store.claimRollouts()).toEqual([]);
    });

    test('removes a queued rollout from the queue when an attempt is opened explicitly', async ({ store }) => {
      const { rolloutId } = await enqueueOne(store);
      await store.startAttempt(rolloutId);
      expect(await store.claimRollouts()).toEqual([]);
    });

    test('abandons the open attempt when another is opened explicitly', async ({ store }) => {
      const { rolloutId } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'running' });
      await store.startAttempt(rolloutId);
      const { items } = await store.queryAttempts(rolloutId);
      expect(items.map((attempt) => attempt.status)).toEqual(['unresponsive', 'preparing']);
    });

    test('rejects another attempt of a succeeded rollout', async ({ store }) => {
      const { rolloutId } = await claimOne(store);
      await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
      await expect(store.startAttempt(rolloutId)).rejects.toMatchObject({ code: 'ILLEGAL_TRANSITION' });
    });

    test('reports unknown ids as NOT_FOUND', async ({ store }) => {
      const { rolloutId } = await enqueueOne(store);
      const calls = [
        () => store.getRollout('ro-unknown'),
        () => store.updateRollout('ro-unknown', { status: 'cancelled' }),
        () => store.startAttempt('ro-unknown'),
        () => store.updateAttempt('ro-unknown', 'latest', {}),
        () => store.updateAttempt(rolloutId, 'at-unknown', {}),
        () => store.updateAttempt(rolloutId, 'latest', {}),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}
