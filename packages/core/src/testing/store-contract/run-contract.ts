import { describe, expect } from 'vitest';
import type { Attributes, SpanInput } from '../../spans/span.ts';
import { spanNames } from '../../spans/span-attributes.ts';
import type { AttemptedRollout, EnqueueRolloutRequest } from '../../store/rollout.ts';
import type { MetricPoint } from '../../store/run.ts';
import type { Store } from '../../store/store.ts';
import { aRewardSpan, aSpan } from '../a-span.ts';
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

    test('are listed by kind', async ({ store }) => {
      for (const runId of ['run-1', 'run-2', 'run-3']) await store.createRun({ runId, name: runId, config: {} });
      await store.updateRun('run-2', { state: { kind: 'deployment' } });
      await store.updateRun('run-3', { state: { kind: 'evaluation' } });
      const page = await store.queryRuns({ kind: 'deployment', limit: 5 });
      expect(page).toMatchObject({ total: 1, items: [{ runId: 'run-2' }] });
      expect(await store.queryRuns({ kind: 'dataset' })).toMatchObject({ total: 0, items: [] });
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
      expect((await store.queryMetrics('run-1')).items).toEqual([aPoint(1, { 'reward/mean': 0.25 })]);
    });

    test('do not change when recording metrics fails', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      const update = store.updateRun('run-1', { state: { step: 1 } }, [aPoint(1), { ...aPoint(2), runId: 'run-2' }]);
      await expect(update).rejects.toMatchObject({ code: 'VALIDATION' });
      expect(await store.getRun('run-1')).toMatchObject({ state: {} });
      expect((await store.queryMetrics('run-1')).items).toEqual([]);
    });

    test('have metrics in order of step, the later record of a step replacing the earlier', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      await store.updateRun('run-1', {}, [aPoint(2), aPoint(0, { x: Number.NaN })]);
      await store.updateRun('run-1', {}, [aPoint(1), aPoint(2, { x: 5 })]);
      expect((await store.queryMetrics('run-1')).items).toEqual([
        aPoint(0, { x: Number.NaN }),
        aPoint(1),
        aPoint(2, { x: 5 }),
      ]);
    });

    test('have metrics that are read in parts, also from the last step', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      const points = Array.from({ length: 150 }, (_, index) => aPoint(index + 1));
      await store.updateRun('run-1', {}, points);
      expect((await store.queryMetrics('run-1')).items).toEqual(points);
      const part = { items: points.slice(120, 122), limit: 2, offset: 120, total: 150 };
      expect(await store.queryMetrics('run-1', { offset: 120, limit: 2 })).toEqual(part);
      const { items } = await store.queryMetrics('run-1', { sortOrder: 'desc', limit: 1 });
      expect(items).toEqual(points.slice(-1));
      await expect(store.queryMetrics('run-1', { limit: 0 })).rejects.toMatchObject({ code: 'VALIDATION' });
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
        usage: [],
      });
    });

    test('sum the token usage of captured model calls by model', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      const first = await claimOne(store, { runId: 'run-1' });
      const other = await claimOne(store, { runId: 'run-1' });
      const callOf = ({ rolloutId, attempt }: AttemptedRollout, id: number, fields: Attributes): SpanInput => ({
        ...aSpan({
          rolloutId,
          attemptId: attempt.attemptId,
          spanId: id.toString(16).padStart(16, '0'),
          sequenceId: id,
        }),
        name: spanNames.modelCall,
        attributes: {
          'gen_ai.request.model': 'large',
          'gen_ai.usage.input_tokens': 100,
          'gen_ai.usage.output_tokens': 10,
          ...fields,
        },
      });
      const cached = callOf(first, 1, { 'gen_ai.usage.cache_read.input_tokens': 60 });
      await store.appendSpans([cached, callOf(first, 2, {}), { ...callOf(first, 3, {}), name: 'chat large' }]);
      // A repeated span is not counted again.
      await store.appendSpans([cached]);
      await store.appendSpans([callOf(other, 1, { 'agentlightning.policy_version': 0 })]);
      await store.appendSpans([
        callOf(other, 2, { 'gen_ai.usage.input_tokens': -5, 'gen_ai.usage.output_tokens': 'many' }),
      ]);
      const { usage } = await store.runStatistics('run-1');
      expect(usage).toEqual([
        { model: 'large', isPolicy: false, calls: 3, inputTokens: 200, cachedInputTokens: 60, outputTokens: 20 },
        { model: 'large', isPolicy: true, calls: 1, inputTokens: 100, cachedInputTokens: 0, outputTokens: 10 },
      ]);
    });

    test('summarise their training rollouts by step and task', async ({ store, clock }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      const startTimeMs = clock.now();
      const rolloutId = await aRewardedRollout(store, { metadata: { step: 2, task_index: 7 } }, [0.25, 0.5]);
      await clock.advance(100);
      const other = await aRewardedRollout(store, { metadata: { step: 2, task_index: 7 } }, [1]);
      await store.updateRollout(other, { status: 'failed' });
      await aRewardedRollout(store, { metadata: { step: 1, task_index: 0 } }, []);
      for (const metadata of [{ step: 1 }, { step: '1', task_index: 0 }, null]) {
        await aRewardedRollout(store, { metadata }, [1]);
      }
      await aRewardedRollout(store, { metadata: { step: 1, task_index: 0 }, mode: 'val' }, [1]);
      const group = { rollouts: 1, failed: 0, firstStartTimeMs: clock.now(), lastStartTimeMs: clock.now() };
      const earlier = { step: 1, taskIndex: 0, meanReward: null, minReward: null, maxReward: null };
      const later = { step: 2, taskIndex: 7, meanReward: 0.75, minReward: 0.5, maxReward: 1 };
      const groups = await store.groupStatistics('run-1');
      expect(groups).toEqual([
        { ...group, ...earlier, rolloutId: expect.any(String) },
        { ...group, ...later, rollouts: 2, failed: 1, firstStartTimeMs: startTimeMs, rolloutId: expect.any(String) },
      ]);
      expect([rolloutId, other]).toContain(groups[1]?.rolloutId);
      const since = await store.groupStatistics('run-1', { startTimeFromMs: clock.now() });
      expect(since.map(({ step, rollouts }) => [step, rollouts])).toEqual([
        [1, 1],
        [2, 1],
      ]);
    });

    test('have the reward of the last span of the latest attempt in their summary', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'first', config: {} });
      const metadata = { step: 1, task_index: 0 };
      const { rolloutId, attempt } = await claimOne(store, { runId: 'run-1', mode: 'train', metadata });
      const ids = { rolloutId, attemptId: attempt.attemptId };
      await store.appendSpans([aRewardSpan(0.5, { ...ids, spanId: '00000000000000a5', sequenceId: 5 })]);
      await store.appendSpans([aRewardSpan(0.25, { ...ids, spanId: '00000000000000a3', sequenceId: 3 })]);
      const meanReward = async (): Promise<unknown> => (await store.groupStatistics('run-1'))[0]?.meanReward;
      expect(await meanReward()).toBe(0.5);
      await store.startAttempt(rolloutId);
      expect(await meanReward()).toBeNull();
    });

    test('report an unknown id as NOT_FOUND', async ({ store }) => {
      const calls = [
        () => store.getRun('run-unknown'),
        () => store.updateRun('run-unknown', {}),
        () => store.queryMetrics('run-unknown'),
        () => store.runStatistics('run-unknown'),
        () => store.groupStatistics('run-unknown'),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}

/** A training rollout of `run-1` with an attempt that has these rewards. Returns its id. */
async function aRewardedRollout(
  store: Store,
  request: Partial<EnqueueRolloutRequest>,
  rewards: readonly number[],
): Promise<string> {
  const { rolloutId, attempt } = await claimOne(store, { runId: 'run-1', mode: 'train', ...request });
  for (const [index, reward] of rewards.entries()) {
    const { sequenceId: _assigned, ...span } = aRewardSpan(reward, {
      rolloutId,
      attemptId: attempt.attemptId,
      spanId: `00000000000000a${index}`,
    });
    await store.appendSpans([span]);
  }
  return rolloutId;
}

function aPoint(step: number, values: MetricPoint['values'] = { x: 1 }): MetricPoint {
  return { runId: 'run-1', step, timeMs: 1_700_000_000_000 + step, values };
}
