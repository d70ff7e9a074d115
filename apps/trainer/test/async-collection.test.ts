import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { spanNames } from '@agentlightning/core/spans';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TrainingEvent } from '../src/index.ts';
import { countLetters, smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Each test starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-async-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const collection = { mode: 'async', maxStaleness: 1, oversample: 0.25 } as const;

function stepMetrics(events: readonly TrainingEvent[]): readonly Readonly<Record<string, number>>[] {
  return events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));
}

const groupOf = (rolloutMetadata: Readonly<Record<string, unknown>> | null): string =>
  String(rolloutMetadata?.['group_id']);

test('steps train on groups that ran ahead, within the staleness limit', async () => {
  const { events, error } = await trainSmall(smallTrainer(folder, { steps: 5, collection }));
  expect(error).toBeNull();
  const metrics = stepMetrics(events);
  expect(metrics).toHaveLength(5);
  for (const step of metrics) {
    expect((step['staleness/groups_0'] ?? 0) + (step['staleness/groups_1'] ?? 0)).toBe(4);
    expect(step['staleness/max']).toBeLessThanOrEqual(1);
    expect(step['failures/timeout']).toBe(0);
  }
  expect(metrics[0]).toMatchObject({ 'staleness/max': 0, 'collection/groups_ahead': 5 });
  expect(metrics.some((step) => (step['staleness/groups_1'] ?? 0) > 0)).toBe(true);
  expect(metrics.at(-1)).toMatchObject({ 'collection/groups_ahead': 1 });
  await withStore(folder, async (store) => {
    const { items } = await store.queryRollouts({ modeIn: ['train'] });
    for (const { status } of items) expect(['succeeded', 'cancelled']).toContain(status);
    // Groups of the trained steps, and at most those that ran in addition.
    const groups = new Set(items.map(({ metadata }) => groupOf(metadata)));
    expect(groups.size).toBeGreaterThanOrEqual(5 * 4);
    expect(groups.size).toBeLessThanOrEqual(5 * 4 + 4);
  });
});

test('a straggler delays no step, and is cancelled when its weights are too old', async () => {
  let stragglers = 0;
  const trainer = smallTrainer(folder, {
    steps: 5,
    collection,
    agent: async (task, context) => {
      const reward = await countLetters(task, context);
      if (context.metadata?.['group_id'] !== 'group-2/0') return reward;
      stragglers += 1;
      return await new Promise((_, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason));
      });
    },
  });
  const { events, error } = await trainSmall(trainer);
  expect(error).toBeNull();
  expect(stragglers).toBe(2);
  const cancelled = stepMetrics(events).map((step) => step['collection/cancelled_groups']);
  // Enqueued for step 1, and too old for step 3.
  expect(cancelled).toEqual([0, 0, 1, 0, 0]);
});

test.each([
  ['within the staleness limit', 60],
  ['that become too old', 600],
])('slow tasks keep their share of what is trained: tasks %s', async (_, slowMs) => {
  const trainer = smallTrainer(folder, {
    steps: 12,
    tasksPerStep: 4,
    collection,
    agent: async (task, context) => {
      const reward = await countLetters(task, context);
      // Half of the tasks.
      if (task.index % 2 === 0) await setTimeout(slowMs, undefined, { signal: context.signal });
      return reward;
    },
  });
  const runId = `shares-${slowMs}`;
  const { events, error } = await trainSmall(trainer, { runId });
  expect(error).toBeNull();
  for (const step of stepMetrics(events)) expect(step['collection/late_groups']).toBeLessThanOrEqual(1);
  const trained = await withStore(folder, async (store) => {
    const { items } = await store.queryRollouts({ runId, modeIn: ['train'] });
    const isTrained = await Promise.all(
      items.map(async ({ rolloutId }) =>
        (await store.querySpans({ rolloutId })).items.some(({ name }) => name === spanNames.training),
      ),
    );
    return items.filter((_rollout, index) => isTrained[index] === true);
  });
  expect(trained).toHaveLength(12 * 4 * 2);
  const slow = trained.filter(({ metadata }) => Number(metadata?.['task_index']) % 2 === 0).length / trained.length;
  expect(slow).toBeGreaterThanOrEqual(0.45);
  expect(slow).toBeLessThanOrEqual(0.55);
});

test('a run without staleness is on policy in every step', async () => {
  const { events } = await trainSmall(
    smallTrainer(folder, { steps: 3, collection: { ...collection, maxStaleness: 0 } }),
  );
  const metrics = stepMetrics(events);
  expect(metrics.map((step) => step['staleness/max'])).toEqual([0, 0, 0]);
  for (const step of metrics) expect(step['policy/logprob_gap']).toBeLessThan(1e-4);
});

test('a resumed run continues the stream of groups within the staleness limit', async () => {
  const stop = new AbortController();
  const settings = { steps: 6, collection, checkpoints: { every: 4 } };
  const interrupted = await trainSmall(smallTrainer(folder, settings), {
    runId: 'resumed',
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type === 'stepped' && event.summary.step === 3) stop.abort();
    },
  });
  expect(interrupted.error).not.toBeNull();
  const state = await withStore(folder, async (store) => (await store.getRun('resumed')).state);
  expect(state['collection']).toMatchObject({ nextGroup: expect.any(Number) });
  const { events, error } = await trainSmall(smallTrainer(folder, settings), { resume: 'resumed' });
  expect(error).toBeNull();
  const metrics = stepMetrics(events);
  // From the checkpoint of step 0.
  expect(metrics).toHaveLength(6);
  for (const step of metrics) expect(step['staleness/max']).toBeLessThanOrEqual(1);
});
