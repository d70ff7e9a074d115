import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AlgorithmOptions } from '@agentlightning/algorithms';
import { emitMessage } from '@agentlightning/core';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { TrainConfig, Trainer, TrainingEvent } from '../src/index.ts';
import { scriptedTeacher } from './scripted-teacher.ts';
import { ask, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Each test starts several runtimes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-teachers-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const trainer = (algorithm: AlgorithmOptions, changes: Partial<TrainConfig<SmallTask>> = {}): Trainer<SmallTask> =>
  smallTrainer(folder, { algorithm, ...changes });

const metricsOf = (events: readonly TrainingEvent[]): Readonly<Record<string, number>> =>
  events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : [])).at(-1) ?? {};

/** Fails always; half of the tasks have feedback, which for one of them is longer than the context of the model. */
const failing = async (task: SmallTask): Promise<number> => {
  await ask(task);
  if (task.index % 2 === 0) emitMessage('Say: x. '.repeat(task.index === 0 ? 400 : 1));
  return 0;
};

describe('sdpo', () => {
  test.each(['initial', 'current'] as const)('trains where all rewards are 0, with the %s teacher', async (teacher) => {
    const { events, error } = await trainSmall(
      trainer({ type: 'sdpo', groupSize: 2, teacher }, { agent: failing, tasksPerStep: 8 }),
    );
    expect(error).toBeNull();
    const metrics = metricsOf(events);
    expect(metrics).toMatchObject({
      'teacher/rollouts': 8,
      'teacher/without_feedback': 8,
      'teacher/feedback/messages': 8,
      'teacher/feedback_cut': 2,
      'teacher/rows_left_out': 0,
      'groups/constant': 8,
    });
    expect(metrics['policy/update_change']).toBeGreaterThan(0);
    expect(metrics['advantage/zero_share']).toBeLessThan(1);
  });
});

describe('distillation', () => {
  const source = { type: 'grpo', groupSize: 2, learningRate: 1e-2 } as const;
  const distillation = { type: 'distillation', groupSize: 2, teacher: { run: 'source@latest' } } as const;

  test('learns from the checkpoint that the run recorded when it began', async () => {
    expect((await trainSmall(trainer(source, { steps: 2 }), { runId: 'source' })).error).toBeNull();
    const stop = new AbortController();
    const onEvent = (event: TrainingEvent): void => {
      if (event.type === 'stepped') stop.abort();
    };
    const student = trainer(distillation, { steps: 3 });
    await trainSmall(student, { runId: 'student', signal: stop.signal, onEvent });
    const state = async (): Promise<unknown> =>
      await withStore(folder, async (store) => (await store.getRun('student')).state);
    expect(await state()).toMatchObject({ teachers: { policy: { runId: 'source', step: 2 } }, finishedStep: 1 });
    // The source continues; its student keeps its teacher.
    expect((await trainSmall(trainer(source, { steps: 3 }), { resume: 'source' })).error).toBeNull();
    const { events, error } = await trainSmall(student, { resume: 'student' });
    expect(error).toBeNull();
    expect(await state()).toMatchObject({ teachers: { policy: { step: 2 } }, finishedStep: 3 });
    expect(metricsOf(events)).toMatchObject({ 'teacher/rollouts': 8, 'teacher/rows_left_out': 0 });
    expect(metricsOf(events)['teacher/kl']).not.toBe(0);
  });

  test('learns from a base model', async () => {
    const { events, error } = await trainSmall(trainer({ ...distillation, teacher: { model: 'tiny-chat' } }));
    expect(error).toBeNull();
    expect(metricsOf(events)['teacher/kl']).toBeGreaterThan(0);
  });

  test('learns from an endpoint; a run is resumed after one that was away', async () => {
    vi.stubEnv('TEACHER_KEY', 'key');
    const distilled = (endpoint: string): Trainer<SmallTask> =>
      trainer({ ...distillation, teacher: { endpoint, model: 'large', apiKey: { env: 'TEACHER_KEY' } } }, { steps: 2 });
    const first = await scriptedTeacher();
    const onEvent = (event: TrainingEvent): void => {
      if (event.type === 'stepped') first.stop();
    };
    const cut = await trainSmall(distilled(first.url), { runId: 'cut', onEvent });
    expect(cut.error).toMatchObject({ code: 'UNREACHABLE', message: expect.stringContaining('the teacher large at') });
    expect(metricsOf(cut.events)).toMatchObject({ 'teacher/rollouts': 8 });
    const { error, events } = await trainSmall(distilled((await scriptedTeacher()).url), { resume: 'cut' });
    expect(error).toBeNull();
    expect(metricsOf(events)).toMatchObject({ 'teacher/rollouts': 8, 'rollouts/infrastructure_failed': 0 });
  });

  test.each([
    [{ run: 'missing@best' }, { code: 'NOT_FOUND' }],
    [{ run: 'missing' }, { code: 'CONFIG', message: expect.stringContaining('invalid reference') }],
    [{ model: 'large' }, { code: 'CONFIG', message: expect.stringContaining('the runtime has no model "large"') }],
  ])('refuses the teacher %j before the first rollout', async (teacher, expected) => {
    const { error, events } = await trainSmall(trainer({ ...distillation, teacher }));
    expect(error).toMatchObject(expected);
    expect(events.filter(({ type }) => type === 'stepped' || type === 'evaluated')).toEqual([]);
  });
});
