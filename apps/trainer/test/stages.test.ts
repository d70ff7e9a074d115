import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Run } from '@agentlightning/core';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type StageConfig, type TrainConfig, Trainer, type TrainingEvent, type TrainingSummary } from '../src/index.ts';
import { countLetters, type SmallTask, smallConfig, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Each test opens several sessions, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-stages-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const sft = { algorithm: { type: 'sft', groupSize: 2, learningRate: 1e-2 }, steps: 2 } as const;
/** The KL term compares with the weights that its stage began with. */
const grpo = {
  algorithm: { type: 'grpo', groupSize: 2, learningRate: 1e-2, klCoefficient: 0.1 },
  steps: 3,
  tasksPerStep: 2,
} as const;

/** A run of stages, whose settings are otherwise those of {@link smallConfig}. */
function trainer(stages: readonly StageConfig[], changes: Partial<TrainConfig<SmallTask>> = {}): Trainer<SmallTask> {
  const { algorithm: _algorithm, steps: _steps, ...config } = smallConfig(folder);
  return new Trainer<SmallTask>({
    ...config,
    ...changes,
    checkpoints: { ...config.checkpoints, ...changes.checkpoints },
    stages,
  });
}

const runOf = (runId: string): Promise<Run> => withStore(folder, (store) => store.getRun(runId));

const of = <TType extends TrainingEvent['type']>(
  events: readonly TrainingEvent[],
  type: TType,
): readonly Extract<TrainingEvent, { type: TType }>[] =>
  events.filter((event): event is Extract<TrainingEvent, { type: TType }> => event.type === type);

/** What was measured in the steps of a run, but times and versions, which a running runtime never counts back. */
async function metricsOf(runId: string): Promise<readonly object[]> {
  const { items } = await withStore(folder, (store) => store.queryMetrics(runId));
  return items.map(({ step, values }) => ({
    step,
    ...Object.fromEntries(
      Object.entries(values).filter(([name]) => !name.startsWith('time/') && name !== 'policy/version'),
    ),
  }));
}

const summaryOf = (events: readonly TrainingEvent[]): TrainingSummary | undefined => of(events, 'finished')[0]?.summary;

/** The phase, mode and model of the rollouts of a run. */
async function rolloutsOf(runId: string): Promise<readonly { phase: unknown; stage: unknown; input: unknown }[]> {
  const { items } = await withStore(folder, (store) => store.queryRollouts({ runId, limit: 200 }));
  return items.map(({ metadata, input }) => ({ phase: metadata?.['phase'], stage: metadata?.['stage'], input }));
}

test('stages are one run: their steps count on, and each begins with a checkpoint of the one before', async () => {
  const own: unknown[] = [];
  const warmUp: StageConfig = {
    ...sft,
    tasks: { train: [{ question: 'Repeat: a', index: 100 }] },
    agent: async (task: SmallTask, context) => {
      own.push([task.index, context.mode]);
      return await countLetters(task, context);
    },
  };
  const { events, error } = await trainSmall(trainer([warmUp, grpo]), { runId: 'staged' });
  expect(error).toBeNull();
  expect(
    of(events, 'started').map(({ stage, firstStep, steps, algorithm }) => [stage, firstStep, steps, algorithm]),
  ).toEqual([
    [{ number: 1, of: 2 }, 1, 5, 'sft'],
    [{ number: 2, of: 2 }, 3, 5, 'grpo'],
  ]);
  expect(of(events, 'stepped').map(({ summary }) => [summary.step, summary.steps])).toEqual(
    [1, 2, 3, 4, 5].map((step) => [step, 5]),
  );
  expect(of(events, 'evaluated').map(({ phase, step }) => [phase, step])).toEqual([
    ['before', 0],
    ['after', 5],
  ]);
  // The agent of the stage runs its training tasks, and no others.
  expect(new Set(own.map((each) => JSON.stringify(each)))).toEqual(new Set(['[100,"train"]']));
  const steps = (await rolloutsOf('staged')).filter(({ phase }) => String(phase).startsWith('step'));
  expect(new Set(steps.map(({ phase, stage }) => `${phase} ${stage}`))).toEqual(
    new Set(['step-1 0', 'step-2 0', 'step-3 1', 'step-4 1', 'step-5 1']),
  );
  // The reference of the KL term is the beginning of the stage, and not of the run.
  const [first] = (await metricsOf('staged')).slice(2) as readonly Record<string, number>[];
  expect(first?.['policy/kl_reference']).toBeCloseTo(0, 6);
  expect(summaryOf(events)?.training).toMatchObject({
    ended: 'steps',
    stages: [
      { algorithm: 'sft', firstStep: 1, lastStep: 2, startStep: null, ended: 'steps' },
      { algorithm: 'grpo', firstStep: 3, lastStep: 5, startStep: 2, ended: 'steps' },
    ],
  });
  const { state, config } = await runOf('staged');
  expect(state).toMatchObject({ steps: 5, finishedStep: 5, finalStep: 5 });
  expect(config).toMatchObject({ stages: [{ steps: 2 }, { steps: 3, tasksPerStep: 2 }] });
});

test.each([
  { where: 'in the first stage', at: 1 },
  { where: 'before the first step of the second stage', at: 2 },
  { where: 'in the second stage', at: 4 },
  { where: 'in the second stage, before its first checkpoint,', at: 3, from: 2, every: 10 },
])('a run that is stopped $where resumes there, and ends as one that was not', async ({ at, from = at, every = 1 }) => {
  const stages = [sft, grpo];
  const changes = { checkpoints: { every } };
  expect((await trainSmall(trainer(stages, changes), { runId: `whole-${at}` })).error).toBeNull();
  const stop = new AbortController();
  const onEvent = (event: TrainingEvent): void => {
    if (event.type === 'stepped' && event.summary.step === at) stop.abort();
  };
  const runId = `stopped-${at}`;
  const stopped = await trainSmall(trainer(stages, changes), { runId, signal: stop.signal, onEvent });
  expect(stopped.error).toMatchObject({ code: 'CANCELLED' });
  const { events, error } = await trainSmall(trainer(stages, changes), { resume: runId });
  expect(error).toBeNull();
  expect(of(events, 'stepped').map(({ summary }) => summary.step)).toEqual([1, 2, 3, 4, 5].slice(from));
  expect(await metricsOf(runId)).toEqual(await metricsOf(`whole-${at}`));
  expect(summaryOf(events)?.training?.stages).toHaveLength(2);
});

test('the best checkpoint of a stage begins the next, and goals of a stage end it alone', async () => {
  // Falling rewards: the first evaluation is the best.
  let evaluations = 0;
  const agent: typeof countLetters = async (task, context) => {
    const letters = await countLetters(task, context);
    if (context.mode === 'train') return letters;
    evaluations += 1;
    return 1 / Math.ceil(evaluations / 4);
  };
  const goal: StageConfig = { ...sft, steps: 9, stop: { reward: -1 } };
  const { events, error } = await trainSmall(
    trainer([goal, { ...grpo, steps: 1 }], { agent, evaluation: { every: 1 } }),
    {
      runId: 'best',
    },
  );
  expect(error).toBeNull();
  const stages = summaryOf(events)?.training?.stages;
  expect(stages).toEqual([
    { algorithm: 'sft', firstStep: 1, lastStep: 3, startStep: null, ended: 'goal' },
    { algorithm: 'grpo', firstStep: 4, lastStep: 4, startStep: 1, ended: 'steps' },
  ]);
  // The run ends with the best checkpoint of all: the copy of that of the first stage.
  expect((await runOf('best')).state).toMatchObject({ finalStep: 1, finishedStep: 4 });
});

test('a stage may train on stored conversations', async () => {
  const file = path.join(folder, 'demonstrations.jsonl');
  const messages = [
    { role: 'user', content: 'Number 1?' },
    { role: 'assistant', content: 'one' },
  ];
  writeFileSync(file, `${JSON.stringify({ messages })}\n`.repeat(4));
  const { events, error } = await trainSmall(trainer([{ ...sft, data: file }, grpo]), { runId: 'stored' });
  expect(error).toBeNull();
  expect(of(events, 'stepped').map(({ summary }) => summary.step)).toEqual([1, 2, 3, 4, 5]);
  const steps = (await rolloutsOf('stored'))
    .map(({ phase }) => String(phase))
    .filter((phase) => phase.startsWith('step'));
  expect(new Set(steps)).toEqual(new Set(['step-3', 'step-4', 'step-5']));
});

test('each stage learns from the teacher that it has, as it was when the run began', async () => {
  for (const runId of ['teacher-1', 'teacher-2']) {
    expect((await trainSmall(trainer([{ ...sft, steps: 1 }]), { runId })).error).toBeNull();
  }
  const taught = (run: string): StageConfig => ({
    algorithm: { type: 'distillation', teacher: { run }, groupSize: 2, learningRate: 1e-3 },
    steps: 1,
  });
  const stages = [taught('teacher-1@latest'), taught('teacher-2@latest')];
  expect((await trainSmall(trainer(stages), { runId: 'taught' })).error).toBeNull();
  expect((await runOf('taught')).state['teachers']).toMatchObject({
    policy: { runId: 'teacher-1' },
    stage2: { runId: 'teacher-2' },
  });
});

test('a run with other stages than it began with cannot be resumed, and a further stage continues a finished one', async () => {
  expect((await trainSmall(trainer([sft]), { runId: 'short' })).error).toBeNull();
  const changed = await trainSmall(trainer([{ ...sft, tasksPerStep: 1 }, grpo]), { resume: 'short' });
  expect(changed.error).toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining('stages[0].tasksPerStep was 4 and is now 1'),
  });
  const { events, error } = await trainSmall(trainer([sft, grpo]), { resume: 'short' });
  expect(error).toBeNull();
  expect(of(events, 'stepped').map(({ summary }) => summary.step)).toEqual([3, 4, 5]);
});

test.each([
  { what: 'steps of the configuration', change: { steps: 3 }, message: /steps: with `stages`, each stage has its own/ },
  { what: 'several policies', change: { policies: { one: {} } }, message: /a run with `stages` has one policy/ },
  { what: 'an unknown key', stage: { ...sft, step: 1 }, message: /no option "stages\.0\.step"; did you mean "steps"/ },
  { what: 'a wrong setting', stage: { ...sft, tasksPerStep: 0 }, message: /stages\[0\]: tasksPerStep/ },
  { what: 'a prompt search', stage: { ...sft, algorithm: 'gepa' }, message: /stages\[0\]: / },
  {
    what: 'data and tasks',
    stage: { ...sft, data: 'data.jsonl', tasks: { train: [] } },
    message: /stages\[0\]: tasks\.train has no effect with `data`/,
  },
])('$what is refused before the run', ({ change = {}, stage = sft, message }) => {
  expect(() => trainer([stage as StageConfig], change)).toThrow(message);
});
