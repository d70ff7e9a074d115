import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { aSpan } from '@agentlightning/core/testing';
import { rubric } from '@agentlightning/rewards';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { resolveRun } from '../src/config/resolve-run.ts';
import { estimateTraining } from '../src/estimate-training.ts';
import { fromRun, fromStore, type StoredTrainConfig, type TrainConfig, type TrainingEvent } from '../src/index.ts';
import { storeDataset } from '../src/stored-data/named-dataset.ts';
import { sharedRuntime } from './shared-runtime.ts';
import { ask, type SmallTask, smallConfig, smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-budget-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The price of a million tokens is a million: a token costs 1. */
const prices = { runtimeTokens: { prefill: 1e6, sampling: 1e6, training: 0 } };

const train = (changes: Partial<TrainConfig<SmallTask>>, options: Parameters<typeof trainSmall>[1]) =>
  trainSmall(smallTrainer(folder, { steps: 3, ...changes }), options);

const stepsOf = (events: readonly TrainingEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'stepped' ? [event.summary.step] : []));

test('a run pauses at its budget with the last step saved, and continues with a larger one', async () => {
  const agent = async (task: SmallTask): Promise<number> => (await ask(task)).length;
  const stopped = await train({ agent, limits: { budget: { money: 1 } }, run: { prices } }, { runId: 'paused' });
  // The evaluation before the first step has reached it.
  expect(stepsOf(stopped.events)).toEqual([]);
  expect(stopped.error).toMatchObject({
    code: 'BUDGET_REACHED',
    message: expect.stringContaining('limits.budget.money'),
  });
  const { status, state } = await withStore(folder, (store) => store.getRun('paused'));
  expect([status, state['finishedStep']]).toEqual(['stopped', 0]);

  const used = await withStore(folder, (store) => store.runStatistics('paused'));
  const tokens = used.usage.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
  const one = await train({ agent, limits: { budget: { tokens: tokens + 1 } } }, { resume: 'paused' });
  expect(stepsOf(one.events)).toEqual([1]);
  expect(one.error).toMatchObject({ code: 'BUDGET_REACHED', message: expect.stringContaining('tokens') });
  // Prompts and responses of the calls, at the price of one for each token.
  const calls = await withStore(folder, (store) => store.runStatistics('paused'));
  const all = calls.usage.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
  expect(one.events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics['cost/run']] : []))).toEqual([
    all,
  ]);
  const saved = await withStore(folder, (store) => store.getRun('paused'));
  expect(saved.state).toMatchObject({
    finishedStep: 1,
    checkpoint: { step: 1 },
    effort: { seconds: expect.any(Number), trainingTokens: expect.any(Number) },
  });

  const rest = await train({ agent, limits: { budget: { hours: 1 } } }, { resume: 'paused' });
  expect([rest.error, stepsOf(rest.events)]).toEqual([null, [2, 3]]);
});

test('calls of a judge count in the tokens of a run', async () => {
  const server = createServer((_request, response) => {
    const content = JSON.stringify({ criteria: [{ name: 'short', reason: 'counted', score: 0.5 }] });
    const body = { choices: [{ message: { content } }], usage: { prompt_tokens: 1000, completion_tokens: 10 } };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  try {
    const judge = { baseUrl, model: 'judge', cache: false };
    const reward = { parts: { judged: rubric({ judge, criteria: { short: 'It is short.' } }) } };
    const { error } = await train({ agent: (task) => ask(task), reward, steps: 1 }, { runId: 'judged' });
    expect(error).toBe(null);
  } finally {
    server.close();
  }
  const { usage, totalRollouts } = await withStore(folder, (store) => store.runStatistics('judged'));
  expect(usage.find(({ model }) => model === 'judge')).toMatchObject({
    calls: totalRollouts,
    inputTokens: 1000 * totalRollouts,
    outputTokens: 10 * totalRollouts,
    isPolicy: false,
  });
});

test('a budget in money without prices is an error', () => {
  const config = smallConfig(folder, { limits: { budget: { money: 5 } } });
  expect(() => resolveRun(config, folder)).toThrow('`run.prices` has no prices');
});

test('an estimate extends one small step to the whole training, and leaves nothing behind', async () => {
  const config = smallConfig(folder, { steps: 10, tasksPerStep: 4, run: { prices } });
  const resolved = resolveRun(config, folder);
  if ('kind' in resolved) throw new Error('not a training');
  const signal = new AbortController().signal;
  const estimate = await estimateTraining(resolved, { signal, onEvent: () => undefined });
  // Two tasks twice, and four tasks before and after; then 10 steps of 8, and two evaluations of 4.
  expect(estimate).toMatchObject({ measuredRollouts: 12, rollouts: 88, cost: { currency: 'USD', missing: [] } });
  expect(estimate.cost.amount).toBeCloseTo(estimate.inputTokens + estimate.outputTokens, 0);
  expect(estimate.trainingTokens).toBeGreaterThan(0);
  expect(readdirSync(folder)).toEqual([]);
});

test('an estimate has tasks and guards of the store', async () => {
  const url = `sqlite:${path.join(folder, 'agl.db')}`;
  const store = await openStore(url);
  onTestFinished(() => store.close());
  for (let index = 0; index < 3; index += 1) {
    const ids = { rolloutId: `a${index}`, attemptId: `at-${index}`, startTimeMs: 1, endTimeMs: 2 };
    const input = JSON.stringify({ question: `What is ${index}?` });
    const attributes = { 'agentlightning.operation.input': input };
    await store.recordTraces('desk', [aSpan({ ...ids, spanId: `s-${index}`, parentId: null, attributes })]);
  }
  const lines = { train: [], test: [{ question: 'Old?' }, { question: 'Older?' }] };
  await storeDataset(store, { name: 'old', format: 'tasks', selection: {}, by: 'test', lines });
  const { tasks, evaluation } = smallConfig(folder);
  const config = smallConfig(folder, {
    steps: 10,
    tasksPerStep: 3,
    store: { url },
    tasks: { ...tasks, train: fromStore({ from: 'desk' }) },
    evaluation: { ...evaluation, guards: { old: fromStore({ dataset: 'old@1', part: 'test' }) } },
  });
  const resolved = resolveRun(config, folder);
  if ('kind' in resolved) throw new Error('not a training');
  const runsBefore = (await store.queryRuns()).total;
  const estimate = await estimateTraining(resolved, { signal: new AbortController().signal, onEvent: () => undefined });
  // Two tasks twice, four tasks before and after, and two of the guard; then 10 steps of 6 instead of one of 4.
  expect(estimate).toMatchObject({ measuredRollouts: 16, rollouts: 72 });
  expect((await store.queryRuns()).total).toBe(runsBefore);
});

test('an estimate of a training without new rollouts has the data of the store, and no rollouts', async () => {
  const url = `sqlite:${path.join(folder, 'agl.db')}`;
  const store = await openStore(url);
  onTestFinished(() => store.close());
  const line = (content: string) => ({
    messages: [
      { role: 'user', content: 'Yes?' },
      { role: 'assistant', content },
    ],
  });
  const lines = { train: [line('Yes.'), line('Sure.')], test: [] };
  await storeDataset(store, { name: 'chats', format: 'chat', selection: {}, by: 'test', lines });
  const estimated = (data: StoredTrainConfig['data']): Promise<object> => {
    const config: StoredTrainConfig = {
      data,
      runtime: sharedRuntime,
      algorithm: { type: 'sft', learningRate: 0.01 },
      steps: 10,
      tasksPerStep: 2,
      // Also where the training begins with the model of a deployment.
      checkpoints: { from: 'support-agent@live' },
      store: { url },
      run: { dataDir: folder },
    };
    const resolved = resolveRun(config, folder);
    if ('kind' in resolved) throw new Error('not a training');
    return estimateTraining(resolved, { signal: new AbortController().signal, onEvent: () => undefined });
  };
  const estimate = await estimated(fromStore({ dataset: 'chats@1' }));
  expect(estimate).toMatchObject({ measuredRollouts: 0, rollouts: 0, inputTokens: 0 });
  expect(estimate).toMatchObject({
    trainingTokens: expect.toSatisfy((tokens: number) => tokens > 0 && tokens % 10 === 0),
  });
  await expect(estimated(fromRun('support-agent'))).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining('without the rollouts of support-agent'),
  });
});
