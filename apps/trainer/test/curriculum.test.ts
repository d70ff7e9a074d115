import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Agent } from '@agentlightning/runner';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TrainConfig, Trainer, TrainingEvent } from '../src/index.ts';
import { runAgl } from './agl-command.ts';
import { countLetters, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Each test starts several runtimes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-curriculum-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Half of the rollouts of the last two tasks pass; all of the others do. */
const lastTasksTeach: Agent<SmallTask> = async (task, context) => {
  await countLetters(task, context);
  return task.index >= 6 && context.metadata?.['sample'] === 0 ? 0 : 1;
};

const weighted = (place: string, changes: Partial<TrainConfig<SmallTask>> = {}): Trainer<SmallTask> =>
  smallTrainer(path.join(folder, place), {
    agent: lastTasksTeach,
    // Policy versions of a resumed run continue in a shared runtime.
    runtime: { type: 'embedded', model: 'tiny-random' },
    steps: 8,
    tasksPerStep: 2,
    ...changes,
    collection: { curriculum: { by: 'passRate', floor: 0.05, memory: 1 }, ...changes.collection },
  });

/** The tasks of each step, in order of groups. */
async function drawnTasks(place: string, runId: string): Promise<readonly (readonly number[])[]> {
  const { items } = await withStore(path.join(folder, place), (store) =>
    store.queryRollouts({ runId, modeIn: ['train'] }),
  );
  const groups = items
    .filter(({ metadata }) => metadata?.['sample'] === 0)
    .map(({ metadata }) => ({
      step: Number(metadata?.['step']),
      group: String(metadata?.['group_id']),
      task: Number(metadata?.['task_index']),
    }))
    .toSorted((one, other) => one.step - other.step || one.group.localeCompare(other.group));
  const steps = [...new Set(groups.map(({ step }) => step))];
  return steps.map((step) => groups.filter((group) => group.step === step).map(({ task }) => task));
}

const metricsOf = (events: readonly TrainingEvent[]): readonly Readonly<Record<string, number>>[] =>
  events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));

test('recorded pass rates concentrate the draws, and a resumed run draws the same tasks', async () => {
  const whole = await trainSmall(weighted('whole'), { runId: 'weighted' });
  expect(whole.error).toBeNull();
  const tasks = await drawnTasks('whole', 'weighted');
  expect(tasks).toHaveLength(8);
  const metrics = metricsOf(whole.events);
  expect(metrics.at(-1)?.['curriculum/effective_tasks']).toBeLessThan(metrics[0]?.['curriculum/effective_tasks'] ?? 0);
  expect(metrics[0]).toMatchObject({ 'curriculum/tasks_untried': 6 });

  const stop = new AbortController();
  const onEvent = (event: TrainingEvent): void => {
    if (event.type === 'stepped' && event.summary.step === 5) stop.abort();
  };
  const rare = { checkpoints: { every: 3 } };
  await trainSmall(weighted('parts', rare), { runId: 'weighted-parts', signal: stop.signal, onEvent });
  // From the checkpoint of step 3, with the results at that time.
  const resumed = await trainSmall(weighted('parts', rare), { resume: 'weighted-parts' });
  expect([resumed.events[0], resumed.error]).toMatchObject([{ firstStep: 4 }, null]);
  expect(await drawnTasks('parts', 'weighted-parts')).toEqual(tasks);
  const untimed = (all: readonly Readonly<Record<string, number>>[]): readonly object[] =>
    all.map((values) => Object.fromEntries(Object.entries(values).filter(([name]) => !name.startsWith('time/'))));
  expect(untimed(metricsOf(resumed.events))).toEqual(untimed(metrics.slice(3)));
});

test('another curriculum is another run', async () => {
  await trainSmall(weighted('changed', { steps: 1 }), { runId: 'changed' });
  const { error } = await trainSmall(
    weighted('changed', {
      steps: 2,
      collection: { curriculum: { by: 'passRate' } },
    }),
    {
      resume: 'changed',
    },
  );
  expect(error).toMatchObject({ code: 'CONFIG', message: expect.stringContaining('curriculum was') });
});

test.each([
  { mode: 'sync', refillGroups: 8 },
  { mode: 'async', refillGroups: 8 },
] as const)('weights replace groups as well, with %j', { tags: ['long'] }, async (collection) => {
  const runId = `refilled-${collection.mode}`;
  const { events, error } = await trainSmall(weighted('refilled', { steps: 4, collection }), { runId });
  expect(error).toBeNull();
  for (const metrics of metricsOf(events)) {
    expect(metrics['curriculum/effective_tasks']).toBeGreaterThan(1);
    expect(metrics['curriculum/effective_tasks']).toBeLessThanOrEqual(8 + 1e-9);
    const tried = Object.entries(metrics).filter(([name]) => /^curriculum\/tasks_\d/.test(name));
    const sum = tried.reduce((total, [, count]) => total + count, 0);
    expect(sum + (metrics['curriculum/tasks_untried'] ?? 0)).toBe(8);
  }
  // Draws of one step differ: replaced groups have other tasks.
  if (collection.mode === 'async') return;
  for (const tasks of await drawnTasks('refilled', runId)) {
    expect(new Set(tasks).size).toBe(Math.min(8, tasks.length));
  }
});

test('tasks that no rollout solves are set aside and reported, also after a resumption', async () => {
  const unsolvable: Agent<SmallTask> = async (task, context) => {
    await countLetters(task, context);
    return task.index < 2 ? 0 : 1;
  };
  const curriculum = { by: 'passRate', floor: 1, setAsideAfter: 4 } as const;
  const trainer = (steps: number): Trainer<SmallTask> =>
    weighted('aside', { agent: unsolvable, steps, tasksPerStep: 4, collection: { curriculum } });
  expect((await trainSmall(trainer(4), { runId: 'aside' })).error).toBeNull();
  const { events, error } = await trainSmall(trainer(10), { resume: 'aside' });
  expect(error).toBeNull();
  expect(metricsOf(events).at(-1)).toMatchObject({ 'curriculum/tasks_set_aside': 2 });
  const finished = events.findLast((event) => event.type === 'finished');
  const { unsolvedTasks = [], warnings = [] } = finished?.summary.training ?? {};
  expect(unsolvedTasks.map(({ task, rollouts }) => [task, rollouts])).toEqual([
    [0, 4],
    [1, 4],
  ]);
  for (const { examples } of unsolvedTasks) expect(examples).toHaveLength(3);
  const named = warnings.filter(({ name }) => name === 'unsolved-tasks').map(({ message }) => message);
  expect(named.join('\n')).toMatch(/task 0 in 4 rollouts \(ro/);
  expect(named.join('\n')).toMatch(/task 1 in 4 rollouts \(ro/);
  const listed = await runAgl(['runs', '--json', '--store', path.join(folder, 'aside', 'agl.db')]);
  expect(JSON.parse(listed.output)).toMatchObject({ run: 'aside', unsolved_tasks: unsolvedTasks });
  // Two rollouts in each of two draws, and none after them.
  const drawn = (await drawnTasks('aside', 'aside')).flat();
  expect(drawn.filter((task) => task < 2)).toHaveLength(4);
});
