import { describe, expect } from 'vitest';
import type { RunStatus } from '../../store/run.ts';
import type { Store } from '../../store/store.ts';
import { aSpan } from '../a-span.ts';
import { claimOne, enqueueOne, type StoreTest } from './store-test.ts';

const dayMs = 86_400_000;

/** Deletion of rollouts and runs, explicit and by retention policy. */
export function describeDeletion(test: StoreTest): void {
  describe('deletion', () => {
    test('deletes a finished rollout with its attempts and spans only', async ({ store }) => {
      const kept = await finishOne(store);
      const gone = await finishOne(store);
      expect(await store.deleteRollouts([gone])).toEqual({ runs: 0, rollouts: 1, attempts: 1, spans: 1 });
      await expect(store.getRollout(gone)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect((await store.querySpans({ rolloutId: gone })).items).toEqual([]);
      expect((await store.querySpans({ rolloutId: kept })).items).toHaveLength(1);
      expect(await store.statistics()).toMatchObject({ totalRollouts: 1, totalAttempts: 1, totalSpans: 1 });
    });

    test('rejects unfinished rollouts, and deletes none when one of several is unfinished', async ({ store }) => {
      const done = await finishOne(store);
      const { rolloutId } = await enqueueOne(store);
      const deletion = store.deleteRollouts([done, rolloutId]);
      await expect(deletion).rejects.toMatchObject({ code: 'CONFLICT' });
      await expect(store.deleteRollouts([done, 'ro-unknown'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect((await store.queryRollouts()).total).toBe(2);
      expect(await store.deleteRollouts([])).toMatchObject({ rollouts: 0 });
    });

    test('releases the id for a new rollout', async ({ store }) => {
      const { rolloutId } = await claimOne(store, { rolloutId: 'ro-mine' });
      await store.updateRollout(rolloutId, { status: 'cancelled' });
      await store.deleteRollouts([rolloutId]);
      expect(await claimOne(store, { rolloutId: 'ro-mine' })).toMatchObject({ attempt: { sequenceId: 1 } });
    });

    test('rejects late writes to a deleted rollout', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      await store.updateRollout(rolloutId, { status: 'cancelled' });
      await store.deleteRollouts([rolloutId]);
      const late = [
        store.appendSpans([aSpan({ rolloutId, attemptId: attempt.attemptId })]),
        store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' }),
      ];
      await Promise.all(late.map((call) => expect(call).rejects.toMatchObject({ code: 'NOT_FOUND' })));
    });

    test('fails a wait for a deleted rollout with NOT_FOUND', async ({ store, clock }) => {
      const { rolloutId } = await claimOne(store);
      const other = await enqueueOne(store);
      const waiting = store.waitForRollouts([rolloutId, other.rolloutId]);
      const outcome = expect(waiting).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await clock.waitForSleepers(1);
      await store.updateRollout(rolloutId, { status: 'cancelled' });
      await store.deleteRollouts([rolloutId]);
      await outcome;
    });

    test('deletes a finished run with any number of rollouts', async ({ store }) => {
      await aRun(store, { runId: 'run-1', rolloutCount: 120 });
      await aRun(store, { runId: 'run-2', rolloutCount: 1 });
      await store.updateRun('run-1', { status: 'finished' }, [
        { runId: 'run-1', step: 1, timeMs: 1_700_000_000_000, values: { x: 1 } },
      ]);
      expect(await store.deleteRun('run-1')).toEqual({ runs: 1, rollouts: 120, attempts: 0, spans: 0 });
      await expect(store.getRun('run-1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await store.queryRollouts()).toMatchObject({ total: 1, items: [{ runId: 'run-2' }] });
      await expect(store.deleteRun('run-1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    test('deletes an active run, or one with unfinished rollouts, only with force', async ({ store }) => {
      await aRun(store, { runId: 'run-1', rolloutCount: 1 });
      await expect(store.deleteRun('run-1')).rejects.toMatchObject({ code: 'CONFLICT' });
      await enqueueOne(store, { runId: 'run-1' });
      await store.updateRun('run-1', { status: 'stopped' });
      await expect(store.deleteRun('run-1')).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await store.deleteRun('run-1', { force: true })).toMatchObject({ runs: 1, rollouts: 2 });
      expect(await store.claimRollouts()).toEqual([]);
    });
  });

  describe('retention', () => {
    test('deletes old finished runs and old rollouts without a run, and keeps new or unfinished ones', async ({
      store,
      clock,
    }) => {
      await aRun(store, { runId: 'run-old', rolloutCount: 60, status: 'finished' });
      await aRun(store, { runId: 'run-open', rolloutCount: 1 });
      const loose = await finishOne(store);
      const open = await claimOne(store, { config: { timeoutMs: null } });
      await clock.advance(100_000);
      await store.updateAttempt(open.rolloutId, 'latest', { status: 'running' });
      await aRun(store, { runId: 'run-new', rolloutCount: 1, status: 'finished' });
      const expected = { runs: 1, rollouts: 61, attempts: 1, spans: 1 };
      expect(await store.previewRetention({ olderThanMs: 50_000 })).toEqual({ ...expected, runIds: ['run-old'] });
      expect(await store.getRollout(loose)).toMatchObject({ status: 'succeeded' });
      expect(await store.applyRetention({ olderThanMs: 50_000 })).toEqual(expected);
      expect((await store.queryRuns()).items.map((run) => run.runId)).toEqual(['run-new', 'run-open']);
      await expect(store.getRollout(loose)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await store.getRollout(open.rolloutId)).toMatchObject({ status: 'running' });
      expect(await store.applyRetention({ olderThanMs: 50_000 })).toMatchObject({ runs: 0, rollouts: 0 });
    });

    test('keeps the newest runs, active runs, and rollouts without a run', async ({ store }) => {
      for (const runId of ['run-1', 'run-2', 'run-3', 'run-4'])
        await aRun(store, { runId, rolloutCount: 1, status: 'finished' });
      await store.updateRun('run-1', { status: 'running' });
      const loose = await finishOne(store);
      expect(await store.previewRetention({ keepRuns: 2 })).toMatchObject({ runs: 1, rollouts: 1, runIds: ['run-2'] });
      expect(await store.applyRetention({ keepRuns: 2 })).toMatchObject({ runs: 1, rollouts: 1 });
      expect((await store.queryRuns()).items.map((run) => run.runId)).toEqual(['run-4', 'run-3', 'run-1']);
      expect(await store.getRollout(loose)).toMatchObject({ status: 'succeeded' });
    });

    test('with both limits, deletes only runs that are old and not among the newest', async ({ store, clock }) => {
      for (const runId of ['run-1', 'run-2', 'run-3'])
        await aRun(store, { runId, rolloutCount: 1, status: 'finished' });
      await clock.advance(1000);
      await aRun(store, { runId: 'run-4', rolloutCount: 1, status: 'finished' });
      await store.applyRetention({ olderThanMs: 500, keepRuns: 3 });
      expect((await store.queryRuns()).items.map((run) => run.runId)).toEqual(['run-4', 'run-3', 'run-2']);
      await store.applyRetention({ olderThanMs: dayMs, keepRuns: 0 });
      expect((await store.queryRuns()).total).toBe(3);
    });

    test('deletes the finished rollouts of a stopped run, and the run once it is empty', async ({ store }) => {
      await aRun(store, { runId: 'run-1', rolloutCount: 2, status: 'stopped' });
      const left = await enqueueOne(store, { runId: 'run-1' });
      expect(await store.previewRetention({ keepRuns: 0 })).toMatchObject({ runs: 0, rollouts: 2, runIds: [] });
      expect(await store.applyRetention({ keepRuns: 0 })).toMatchObject({ runs: 0, rollouts: 2 });
      await store.updateRollout(left.rolloutId, { status: 'cancelled' });
      expect(await store.applyRetention({ keepRuns: 0 })).toMatchObject({ runs: 1, rollouts: 1 });
    });

    test('rejects an empty or invalid policy', async ({ store }) => {
      for (const policy of [{}, { olderThanMs: -1 }, { keepRuns: -1 }, { keepRuns: 0.5 }]) {
        await expect(store.applyRetention(policy)).rejects.toMatchObject({ code: 'VALIDATION' });
        await expect(store.previewRetention(policy)).rejects.toMatchObject({ code: 'VALIDATION' });
      }
    });
  });
}

/** A succeeded rollout without a run, with one attempt and one span. */
async function finishOne(store: Store): Promise<string> {
  const { rolloutId, attempt } = await claimOne(store);
  await store.appendSpans([aSpan({ rolloutId, attemptId: attempt.attemptId })]);
  await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
  return rolloutId;
}

/** A run with cancelled rollouts. */
async function aRun(
  store: Store,
  run: { readonly runId: string; readonly rolloutCount: number; readonly status?: RunStatus },
): Promise<void> {
  const { runId, rolloutCount, status = 'running' } = run;
  await store.createRun({ runId, name: runId, config: {} });
  const requests = Array.from({ length: rolloutCount }, (_, input) => ({ input, runId }));
  for (const { rolloutId } of await store.enqueueRollouts(requests)) {
    await store.updateRollout(rolloutId, { status: 'cancelled' });
  }
  await store.updateRun(runId, { status });
}
