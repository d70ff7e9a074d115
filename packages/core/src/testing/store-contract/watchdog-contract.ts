import { describe, expect, vi } from 'vitest';
import type { Attempt, AttemptStatus } from '../../store/attempt.ts';
import { lostClaimsReasonKey } from '../../store/rollout-status.ts';
import { workerLeaseKey } from '../../store/worker.ts';
import { aSpan } from '../a-span.ts';
import { claimNext, claimOne, type StoreTest, statusOf } from './store-test.ts';

/** Timeouts, missing heartbeats and lost runners. */
export function describeWatchdog(test: StoreTest): void {
  describe('watchdog', () => {
    test('times out an attempt without requiring traffic', async ({ store, clock }) => {
      const { rolloutId } = await claimOne(store, { config: { timeoutMs: 10_000 } });
      const waiting = store.waitForRollouts([rolloutId]);
      await clock.waitForSleepers(1);
      await clock.advance(10_001);
      expect(await waiting).toMatchObject([{ status: 'failed' }]);
      expect(await store.getLatestAttempt(rolloutId)).toMatchObject({
        status: 'timeout',
        endTimeMs: expect.any(Number),
      });
    });

    test('does not time out an attempt within its limit', async ({ store, clock }) => {
      const { rolloutId } = await claimOne(store, { config: { timeoutMs: 10_000 } });
      const late = await claimOne(store, { config: { timeoutMs: 5000 } });
      await clock.advance(9999);
      await store.waitForRollouts([late.rolloutId]);
      expect(await statusOf(store, rolloutId)).toBe('preparing');
    });

    test('marks an attempt unresponsive by its last heartbeat', async ({ store, clock }) => {
      const config = { unresponsiveMs: 5000, maxAttempts: 2, retryCondition: ['unresponsive'] as AttemptStatus[] };
      const { rolloutId, attempt } = await claimOne(store, { config });
      await clock.advance(4000);
      await store.updateAttempt(rolloutId, 'latest', { lastHeartbeatTimeMs: clock.now(), status: 'running' });
      await clock.advance(4000);
      await store.appendSpans([aSpan({ rolloutId, attemptId: attempt.attemptId })]);
      await clock.advance(5001);
      await vi.waitFor(async () => expect(await statusOf(store, rolloutId)).toBe('requeuing'));
      expect((await claimNext(store, rolloutId)).attempt.sequenceId).toBe(2);
    });

    test('requeues a claimed rollout without a heartbeat, without counting the attempt', async ({ store, clock }) => {
      const config = { maxAttempts: 2, retryCondition: ['failed'] as AttemptStatus[] };
      const { rolloutId } = await claimOne(store, { config });
      for (let lost = 1; lost <= 3; lost += 1) {
        await clock.advance(60_001);
        await vi.waitFor(async () => expect(await statusOf(store, rolloutId)).toBe('requeuing'));
        expect(await store.getLatestAttempt(rolloutId)).toMatchObject({ status: 'unresponsive', sequenceId: lost });
        await claimNext(store, rolloutId);
      }
      await store.updateAttempt(rolloutId, 'latest', { status: 'failed' });
      expect(await statusOf(store, rolloutId)).toBe('requeuing');
      await claimNext(store, rolloutId);
      await store.updateAttempt(rolloutId, 'latest', { status: 'failed' });
      expect(await statusOf(store, rolloutId)).toBe('failed');
    });

    test('fails a rollout after ten lost claims with the reason, and resets the limit when it is reopened', async ({
      store,
      clock,
    }) => {
      const { rolloutId } = await claimOne(store, { metadata: { kept: 1 } });
      for (const round of ['first', 'reopened']) {
        for (let lost = 1; lost < 10; lost += 1) {
          await clock.advance(60_001);
          await vi.waitFor(async () => expect(await statusOf(store, rolloutId)).toBe('requeuing'));
          await claimNext(store, rolloutId);
        }
        await clock.advance(60_001);
        await vi.waitFor(async () =>
          expect({ round, status: await statusOf(store, rolloutId) }).toEqual({ round, status: 'failed' }),
        );
        const reason = expect.stringContaining('10 times');
        expect(await store.getRollout(rolloutId)).toMatchObject({
          endTimeMs: clock.now(),
          metadata: { kept: 1, [lostClaimsReasonKey]: reason },
          attempt: { status: 'unresponsive', endTimeMs: clock.now(), metadata: { [lostClaimsReasonKey]: reason } },
        });
        await store.updateRollout(rolloutId, { status: 'requeuing' });
        await claimNext(store, rolloutId);
      }
    });

    test('keeps the lease of an attempt with a heartbeat of the attempt or its worker', async ({ store, clock }) => {
      const heard = await claimOne(store, {}, 'worker-1');
      const silent = await claimOne(store, {}, 'worker-2');
      const alive = await claimOne(store, {}, 'worker-3');
      await store.updateAttempt(heard.rolloutId, 'latest', { lastHeartbeatTimeMs: clock.now() });
      await clock.advance(50_000);
      await store.updateWorker('worker-3', {});
      await clock.advance(50_000);
      await vi.waitFor(async () => expect(await statusOf(store, silent.rolloutId)).toBe('requeuing'));
      expect(await statusOf(store, heard.rolloutId)).toBe('preparing');
      expect(await statusOf(store, alive.rolloutId)).toBe('preparing');
    });

    test('returns the attempts of a lost worker to the queue without counting them', async ({ store, clock }) => {
      await store.updateWorker('lost', { [workerLeaseKey]: 8000 });
      await store.updateWorker('alive', { [workerLeaseKey]: 8000 });
      const config = { timeoutMs: 5000, maxAttempts: 1 };
      const lost = await claimOne(store, { config }, 'lost');
      const other = await claimOne(store, {}, 'alive');
      for (const { rolloutId } of [lost, other]) await store.updateAttempt(rolloutId, 'latest', { status: 'running' });
      await clock.advance(6000);
      await store.updateWorker('alive');
      expect(await statusOf(store, lost.rolloutId)).toBe('running');
      await clock.advance(2000);
      await vi.waitFor(async () => expect(await statusOf(store, lost.rolloutId)).toBe('requeuing'));
      expect(await statusOf(store, other.rolloutId)).toBe('running');
      // A model call of the lost worker ends.
      await store.appendSpans([aSpan({ rolloutId: lost.rolloutId, attemptId: lost.attempt.attemptId })]);
      expect((await claimNext(store, lost.rolloutId, 'alive')).attempt.sequenceId).toBe(2);
      await store.updateAttempt(lost.rolloutId, lost.attempt.attemptId, { status: 'succeeded' });
      expect(await statusOf(store, lost.rolloutId)).toBe('preparing');
      // A claim of the lost worker was on its way.
      const late = await claimOne(store, {}, 'lost');
      await vi.waitFor(async () => {
        await clock.advance(1);
        expect(await statusOf(store, late.rolloutId)).toBe('requeuing');
      });
    });

    test('does not count the failure of a lost attempt that another one repeats', async ({ store, clock }) => {
      const config = { maxAttempts: 2, retryCondition: ['failed'] as AttemptStatus[] };
      const { rolloutId, attempt: lost } = await claimOne(store, { config });
      await clock.advance(60_001);
      await vi.waitFor(async () => expect(await statusOf(store, rolloutId)).toBe('requeuing'));
      const { attempt: repeated } = await claimNext(store, rolloutId);
      await store.updateAttempt(rolloutId, lost.attemptId, { status: 'failed' });
      await store.updateAttempt(rolloutId, repeated.attemptId, { status: 'failed' });
      expect(await statusOf(store, rolloutId)).toBe('requeuing');
    });

    test('deletes a lost worker after a minute', async ({ store, clock }) => {
      await store.updateWorker('lost', { [workerLeaseKey]: 8000 });
      await store.updateWorker('without-lease', {});
      await clock.advance(67_999);
      expect(await store.getWorker('lost')).not.toBeNull();
      await clock.advance(1);
      await vi.waitFor(async () => expect(await store.getWorker('lost')).toBeNull());
      expect(await store.getWorker('without-lease')).not.toBeNull();
    });

    test('deletes a worker that ends its lease', async ({ store, clock }) => {
      await store.updateWorker('leaving', { [workerLeaseKey]: 8000 });
      const worker = await store.updateWorker('leaving', { [workerLeaseKey]: 0 });
      expect(worker.heartbeatStats).toEqual({ [workerLeaseKey]: 0 });
      await clock.advance(1);
      await vi.waitFor(async () => expect(await store.getWorker('leaving')).toBeNull());
    });

    test('does not requeue an explicitly started attempt', async ({ store, clock }) => {
      const started = await store.startRollout({ input: 1 });
      const claimed = await claimOne(store);
      await clock.advance(60_001);
      await vi.waitFor(async () => expect(await statusOf(store, claimed.rolloutId)).toBe('requeuing'));
      expect(await statusOf(store, started.rolloutId)).toBe('preparing');
    });

    test('revives an unresponsive attempt on a heartbeat', async ({ store, clock }) => {
      const { rolloutId, attempt } = await claimOne(store);
      await clock.advance(60_001);
      await vi.waitFor(async () => expect(await statusOf(store, rolloutId)).toBe('requeuing'));
      await store.appendSpans([aSpan({ rolloutId, attemptId: attempt.attemptId })]);
      expect(await store.getLatestAttempt(rolloutId)).toMatchObject<Partial<Attempt>>({
        status: 'running',
        endTimeMs: null,
      });
      expect(await statusOf(store, rolloutId)).toBe('running');
      expect(await store.claimRollouts()).toEqual([]);
    });

    test('does not revive a timed-out attempt', async ({ store, clock }) => {
      const config = { timeoutMs: 1000, maxAttempts: 2, retryCondition: ['timeout'] as AttemptStatus[] };
      const { rolloutId, attempt } = await claimOne(store, { config });
      await clock.advance(1001);
      await vi.waitFor(async () => expect(await statusOf(store, rolloutId)).toBe('requeuing'));
      await store.appendSpans([aSpan({ rolloutId, attemptId: attempt.attemptId })]);
      expect(await store.getLatestAttempt(rolloutId)).toMatchObject({ status: 'timeout' });
      expect(await statusOf(store, rolloutId)).toBe('requeuing');
    });
  });
}
