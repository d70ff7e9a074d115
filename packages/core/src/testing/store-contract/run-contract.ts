import { describe, expect } from 'vitest';
import type { MetricPoint } from '../../store/run.ts';
import { claimOne, enqueueOne, type StoreTest } from './store-test.ts';

/** Runs: the resume state of a trainer. */
export function describeRuns(test: StoreTest): void {
  describe('runs', () => {
    test('start as running, with their configuration', async ({ store, clock }) => {
      const run = await store.createRun({ runId: 'run-1', name: 'first', config: { seed: 7 } });
      expect(run).toEqual({
        runId: 'run-1',
        name: 'first',
        status: 'running',
        config: { seed: 7 },
        state: {},
        createTimeMs: clock.now(),
        updateTimeMs: clock.now(),
      });
      expect(await store.getRun('run-1')).toEqual(run);
    });

    test('have unique ids', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      const again = store.createRun({ runId: 'run-1', name: 'second', config: {} });
      await expect(again).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await store.getRun('run-1')).toMatchObject({ name: 'first' });
    });

    test('are listed newest first', async ({ store }) => {
      for (const runId of ['run-1', 'run-2', 'run-3']) await store.createRun({ runId, name: runId, config: {} });
      const page = await store.queryRuns({ limit: 2, offset: 0 });
      expect(page.items.map((run) => run.runId)).toEqual(['run-3', 'run-2']);
      expect(page.total).toBe(3);
      expect((await store.queryRuns()).items).toHaveLength(3);
    });

    test('change atomically with their metrics', async ({ store, clock }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      await clock.advance(100);
      const run = await store.updateRun('run-1', { state: { step: 1 } }, [aPoint(1, { 'reward/mean': 0.25 })]);
      expect(run).toMatchObject({ status: 'running', state: { step: 1 }, updateTimeMs: clock.now() });
      expect(await store.updateRun('run-1', { status: 'finished' })).toMatchObject({
        status: 'finished',
        state: { step: 1 },
      });
      expect(await store.queryMetrics('run-1')).toEqual([aPoint(1, { 'reward/mean': 0.25 })]);
    });

    test('do not change when recording metrics fails', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      const update = store.updateRun('run-1', { state: { step: 1 } }, [aPoint(1), { ...aPoint(2), runId: 'run-2' }]);
      await expect(update).rejects.toMatchObject({ code: 'VALIDATION' });
      expect(await store.getRun('run-1')).toMatchObject({ state: {} });
      expect(await store.queryMetrics('run-1')).toEqual([]);
    });

    test('have metrics in order of step, the later record of a step replacing the earlier', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      await store.updateRun('run-1', {}, [aPoint(2), aPoint(0, { x: Number.NaN })]);
      await store.updateRun('run-1', {}, [aPoint(1), aPoint(2, { x: 5 })]);
      expect(await store.queryMetrics('run-1')).toEqual([aPoint(0, { x: Number.NaN }), aPoint(1), aPoint(2, { x: 5 })]);
    });

    test('count their rollouts by status', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      await claimOne(store, { runId: 'run-1' });
      for (const status of ['cancelled', 'cancelled', 'failed'] as const) {
        const { rolloutId } = await enqueueOne(store, { runId: 'run-1' });
        await store.updateRollout(rolloutId, { status });
      }
      await enqueueOne(store);
      expect(await store.runStatistics('run-1')).toEqual({
        runId: 'run-1',
        totalRollouts: 4,
        totalAttempts: 1,
        rolloutsByStatus: {
          queuing: 0,
          preparing: 1,
          running: 0,
          succeeded: 0,
          failed: 1,
          requeuing: 0,
          cancelled: 2,
        },
      });
    });

    test('report an unknown id as NOT_FOUND', async ({ store }) => {
      const calls = [
        () => store.getRun('run-unknown'),
        () => store.updateRun('run-unknown', {}),
        () => store.queryMetrics('run-unknown'),
        () => store.runStatistics('run-unknown'),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}

function aPoint(step: number, values: MetricPoint['values'] = { x: 1 }): MetricPoint {
  return { runId: 'run-1', step, timeMs: 1_700_000_000_000 + step, values };
}
