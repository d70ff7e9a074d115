import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Run } from '@agentlightning/core';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { resolveRun } from '../src/config/resolve-run.ts';
import type { TrainConfig, Trainer, TrainingEvent, TrainingSummary } from '../src/index.ts';
import { trainWith } from '../src/trainer.ts';
import { AglProcess, stepOf } from './agl-process.ts';
import { RunFolder, smallSteps } from './run-folder.ts';
import { ask, countLetters, type SmallTask, smallConfig, smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Each test starts several runtimes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-more-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const runOf = (runId: string): Promise<Run> => withStore(folder, (store) => store.getRun(runId));

/** A runtime of each run, with checkpoints in its data directory. */
const runtime = { type: 'embedded', model: 'tiny-random' } as const;

/** Steps large enough that one taken without what Adam has gathered shows in all that comes after it. */
const trainer = (steps: number, changes: Partial<TrainConfig<SmallTask>> = {}): Trainer<SmallTask> =>
  smallTrainer(folder, { steps, algorithm: { type: 'grpo', groupSize: 2, learningRate: 1e-2 }, ...changes });

const stepsOf = (events: readonly TrainingEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'stepped' ? [event.summary.step] : []));

/** Everything that was measured in the steps of a run, but how long it took. */
async function metricsOf(runId: string, place = folder): Promise<readonly object[]> {
  const { items: points } = await withStore(place, (store) => store.queryMetrics(runId));
  return points.map(({ step, values }) => {
    const measured = Object.entries(values).filter(([name]) => !name.startsWith('time/'));
    return { step, ...Object.fromEntries(measured) };
  });
}

/** What a run came to, whatever it is called. */
function outcomeOf(events: readonly TrainingEvent[]): object {
  const [summary] = events.flatMap((event): TrainingSummary[] => (event.type === 'finished' ? [event.summary] : []));
  const [before, after] = [summary?.before.reward, summary?.after.reward];
  return { before, after, pValue: summary?.pValue, curve: summary?.rewardCurve };
}

test('a finished run with more steps continues as if it had had them from the start', async () => {
  const whole = await trainSmall(trainer(4), { runId: 'whole' });
  await trainSmall(trainer(2), { runId: 'longer' });
  const { status, state } = await runOf('longer');
  expect([status, state['steps'], state['finishedStep']]).toEqual(['finished', 2, 2]);
  const statuses = new Set<string>();
  const agent: typeof countLetters = async (task, context) => {
    statuses.add((await runOf('longer')).status);
    return await countLetters(task, context);
  };
  const longer = await trainSmall(trainer(4, { agent }), { resume: 'longer' });

  expect(longer.error).toBeNull();
  expect(longer.events[0]).toMatchObject({ type: 'started', firstStep: 3, steps: 4 });
  expect(stepsOf(longer.events)).toEqual([3, 4]);
  expect([...statuses]).toEqual(['running']);
  // Weights, Adam's averages, tasks and samples: nothing is other than in a run that never stopped.
  expect(await metricsOf('longer')).toHaveLength(4);
  expect(await metricsOf('longer')).toEqual(await metricsOf('whole'));
  expect(outcomeOf(longer.events)).toEqual(outcomeOf(whole.events));
  const now = await runOf('longer');
  expect([now.status, now.state['steps'], now.state['finishedStep']]).toEqual(['finished', 4, 4]);
  // The measurement at the former end is one on the way, and was not made twice.
  expect(now.state['evaluations']).toMatchObject([{ step: 2, summary: { rollouts: 4 } }]);
  const { items } = await withStore(folder, (store) => store.queryRollouts({ runId: 'longer' }));
  expect(items.length).toBe(4 + 4 * 8 + 4 + 4);
});

test('a learning rate that falls does so towards the new last step', { tags: ['long'] }, async () => {
  const algorithm = {
    type: 'grpo',
    groupSize: 2,
    learningRate: { schedule: 'linear', peak: 1e-2, finalRatio: 0 },
  } as const;
  await trainSmall(trainer(2, { algorithm }), { runId: 'falling' });
  const { events } = await trainSmall(trainer(4, { algorithm }), { resume: 'falling' });
  expect(stepsOf(events)).toEqual([3, 4]);
  const { items: points } = await withStore(folder, (store) => store.queryMetrics('falling'));
  const rates = points.map(({ values }) => values['optim/learning_rate'] ?? Number.NaN);
  // As in a run of two steps first, then as in one of four.
  for (const [index, rate] of [1e-2, 0, 1e-2 / 3, 0].entries()) expect(rates[index]).toBeCloseTo(rate, 6);
});

test('an interrupted run has the learning rates and the weights of an uninterrupted one', {
  tags: ['long'],
}, async () => {
  const learningRate = { schedule: 'cosine', peak: 1e-2, warmupSteps: 2, finalRatio: 0.5 } as const;
  const algorithm = { type: 'grpo', groupSize: 2, learningRate, epochs: 2, minibatches: 2 } as const;
  const settings = { algorithm, checkpoints: { every: 2 }, runtime };
  const place = (name: string): string => path.join(folder, name);
  const trainerIn = (name: string): Trainer<SmallTask> => trainer(5, { ...settings, run: { dataDir: place(name) } });
  await trainSmall(trainerIn('whole'), { runId: 'cosine' });
  const stop = new AbortController();
  const onEvent = (event: TrainingEvent): void => {
    if (event.type === 'stepped' && event.summary.step === 3) stop.abort();
  };
  expect(
    (await trainSmall(trainerIn('parts'), { runId: 'cosine', signal: stop.signal, onEvent })).error,
  ).not.toBeNull();
  // From the checkpoint of step 2.
  const resumed = await trainSmall(trainerIn('parts'), { resume: 'cosine' });
  expect([stepsOf(resumed.events), resumed.error]).toEqual([[3, 4, 5], null]);
  const [whole, parts] = await Promise.all([metricsOf('cosine', place('whole')), metricsOf('cosine', place('parts'))]);
  expect(parts).toEqual(whole);
  const rates = whole.map((point) => Object.entries(point).find(([name]) => name === 'optim/learning_rate')?.[1]);
  expect(new Set(rates).size).toBe(5);
  const weights = (name: string): Buffer =>
    readFileSync(path.join(place(name), 'checkpoints/cosine/step-000005.safetensors'));
  expect(weights('parts').equals(weights('whole'))).toBe(true);
});

test('a run that has completed its steps reports this and its outcome again', async () => {
  const first = await trainSmall(trainer(2), { runId: 'done' });
  const before = await runOf('done');
  for (const steps of [2, 1, 0]) {
    const again = await trainSmall(trainer(steps), { resume: 'done' });
    expect(again.events.map(({ type }) => type)).toEqual(['nothing-left', 'finished']);
    expect(again.events[0]).toMatchObject({ runId: 'done', reason: 'steps', finishedStep: 2, steps });
    expect(outcomeOf(again.events)).toEqual(outcomeOf(first.events));
  }
  expect(await runOf('done')).toEqual(before);
});

test('a run that has reached its goal continues without the goal, and not for more steps alone', async () => {
  const agent = async (task: SmallTask): Promise<number> => Math.min(1, (await ask(task)).length + 1);
  await trainSmall(trainer(9, { agent, stop: { reward: 1 } }), { runId: 'goal' });
  const more = await trainSmall(trainer(12, { agent, stop: { reward: 1 } }), { resume: 'goal' });
  expect(more.events[0]).toMatchObject({ type: 'nothing-left', reason: 'goal', finishedStep: 3, steps: 12 });
  const free = await trainSmall(trainer(5, { agent }), { resume: 'goal' });
  expect([stepsOf(free.events), free.events.at(-1)?.type]).toEqual([[4, 5], 'finished']);
});

test('a failed run continues with more steps, too', { tags: ['long'] }, async () => {
  let isBroken = false;
  const agent: typeof countLetters = async (task, context) => {
    if (isBroken) throw new Error('the key has expired');
    return await countLetters(task, context);
  };
  const first = await trainSmall(trainer(2, { agent }), {
    runId: 'broken',
    onEvent: ({ type }) => {
      if (type === 'stepped') isBroken = true;
    },
  });
  expect(first.error).toMatchObject({ code: 'AGENT_FAILED' });
  expect((await runOf('broken')).status).toBe('failed');
  isBroken = false;
  const second = await trainSmall(trainer(3, { agent }), { resume: 'broken' });
  expect([stepsOf(second.events), second.error]).toEqual([[2, 3], null]);
  const { status, state } = await runOf('broken');
  expect([status, state['steps']]).toEqual(['finished', 3]);
});

test('a finished run whose checkpoint is gone says what to do, and stays what it was', async () => {
  const first = await trainSmall(trainer(1, { runtime }), { runId: 'cleaned' });
  const before = await runOf('cleaned');
  rmSync(path.join(folder, 'checkpoints/cleaned'), { recursive: true });
  const { events, error } = await trainSmall(trainer(2, { runtime }), { resume: 'cleaned' });
  expect(events).toEqual([]);
  expect(error).toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining(
      `the last checkpoint of run cleaned, cleaned/step-000001, is not in ${path.join(folder, 'checkpoints')}`,
    ),
    remedy: expect.stringMatching(/`run.dataDir`.*restore the checkpoint from a backup.*start a new run/),
  });
  expect(await runOf('cleaned')).toEqual(before);
  const again = await trainSmall(trainer(1, { runtime }), { resume: 'cleaned' });
  expect(outcomeOf(again.events)).toEqual(outcomeOf(first.events));
});

test('a run that is killed during its additional steps resumes like any other', {
  tags: ['long'],
}, async () => {
  using small = new RunFolder();
  await using first = small.train('--run', 'later', '--steps', '2');
  expect(await first.event('finished')).toMatchObject({ summary: { runId: 'later' } });
  await first.exitCode();
  // The error for a reused id contains the command that resumes the run.
  await using taken = small.train('--run', 'later', '--steps', String(smallSteps));
  expect(await taken.exitCode()).toBe(2);
  expect(taken.stderr).toMatch(/CONFLICT.*run later exists[\s\S]*`agl train --resume later`.*more `--steps`/);

  await using longer = small.train('--resume', 'later', '--steps', String(smallSteps));
  expect(await longer.event('started')).toMatchObject({ runId: 'later', steps: smallSteps, firstStep: 3 });
  await longer.event('stepped', (event) => stepOf(event) === 3);
  await longer.kill();
  await using runs = new AglProcess(['runs', '--store', small.storeUrl, '--json']);
  expect(await runs.exitCode()).toBe(0);
  expect(JSON.parse(runs.output)).toMatchObject({ status: 'running', step: 3, steps: smallSteps, reward_after: null });

  expect(await small.resumeAndFinish('later')).toEqual([smallSteps]);
  await small.expectWholeRun('later');
  await using again = small.train('--resume', 'later');
  await again.event('finished');
  expect(again.events[0]).toEqual({
    type: 'nothing-left',
    runId: 'later',
    reason: 'steps',
    finishedStep: 4,
    steps: 4,
  });
});

test('the end of a run of a server is left to the server, which may start the run again', async () => {
  const config = resolveRun(smallConfig(folder, { steps: 2, limits: { maxRestarts: 0 } }), folder);
  const stop = new AbortController();
  const onEvent = ({ type }: TrainingEvent): void => {
    if (type === 'stepped') stop.abort();
  };
  const options = { runId: 'run-1', signal: stop.signal, onEvent };
  const registerUpstreams = async (): Promise<void> => undefined;
  await expect(trainWith(config, { ...options, registerUpstreams })).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(await runOf('run-1')).toMatchObject({ status: 'running' });
});
