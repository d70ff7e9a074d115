import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { policyGradientRecipe } from '@agentlightning/algorithms';
import type { Run } from '@agentlightning/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { TrainingEvent } from '../src/index.ts';
import { ask, countLetters, smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Limit for a test that starts processes, on a machine that may be busy. */
const timeoutMs = 120_000;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-loop-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const runOf = (events: readonly TrainingEvent[]): Promise<Run> =>
  withStore(folder, (store) => store.getRun(events.find((event) => event.type === 'started')?.runId ?? ''));

function stepsOf(events: readonly TrainingEvent[], type: 'evaluated' | 'checkpointed'): number[] {
  return events.flatMap((event) => (event.type === type ? [event.step] : []));
}

test('evaluates held-out tasks at the configured interval, but not twice at the end', {
  timeout: timeoutMs,
}, async () => {
  const agent: typeof countLetters = async (task, context) => {
    const letters = await countLetters(task, context);
    // The last checkpoint is the best.
    return context.metadata?.['phase'] === 'after-4' ? 100 : letters;
  };
  const { events } = await trainSmall(smallTrainer(folder, { agent, steps: 4, evaluation: { every: 2 } }));
  expect(stepsOf(events, 'evaluated')).toEqual([0, 2, 4]);
  const { state } = await runOf(events);
  expect(state['evaluations']).toMatchObject([{ step: 2, summary: { rollouts: 4 } }]);
});

test('stops at the wanted reward, and saves what it has reached', { timeout: timeoutMs }, async () => {
  const trainer = smallTrainer(folder, {
    agent: async (task) => Math.min(1, (await ask(task)).length + 1),
    steps: 9,
    stop: { reward: 1 },
    checkpoints: { every: 100 },
  });
  const { events } = await trainSmall(trainer);
  const summaries = events.flatMap((event) => (event.type === 'stepped' ? [event.summary] : []));
  expect(summaries.map(({ step }) => step)).toEqual([1, 2, 3]);
  // Rewards that do not differ teach nothing, so nothing is known of the policy either.
  expect(summaries.map(({ entropy }) => entropy)).toEqual([null, null, null]);
  expect(stepsOf(events, 'checkpointed')).toEqual([0, 3]);
  expect((await runOf(events)).state['checkpoint']).toMatchObject({ step: 3 });
});

test('too few held-out tasks for a verdict cause one warning', { timeout: timeoutMs }, async () => {
  const { events } = await trainSmall(smallTrainer(folder, { steps: 2, evaluation: { every: 1 } }));
  const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  expect(warnings.filter((message) => message.includes('held-out tasks'))).toEqual([
    expect.stringMatching(/^4 held-out tasks: with fewer than 5, .*Add tasks to `tasks\.test`/),
  ]);
});

test('keeps the configured number of checkpoints', { timeout: timeoutMs }, async () => {
  const { events } = await trainSmall(smallTrainer(folder, { steps: 4, checkpoints: { keep: 2 } }));
  const { state } = await runOf(events);
  expect(state['checkpoints']).toMatchObject([{ step: 3 }, { step: 4 }]);
});

test('zero steps only measure the agent', { timeout: timeoutMs }, async () => {
  const { events } = await trainSmall(smallTrainer(folder, { steps: 0, agents: { concurrency: 500 } }));
  expect(events.at(-1)).toMatchObject({ type: 'finished', summary: { isImproved: false, rewardCurve: [] } });
  expect((await runOf(events)).state['verdict']).toBe('not-significant');
});

test('holds the policy to the model it began as', { timeout: timeoutMs }, async () => {
  const algorithm = { type: 'grpo', groupSize: 2, learningRate: 1e-2, klCoefficient: 0.1 } as const;
  const { events } = await trainSmall(smallTrainer(folder, { steps: 3, algorithm }));
  const divergences = events.flatMap((event) =>
    event.type === 'stepped' ? [event.summary.metrics['policy/kl_reference'] ?? Number.NaN] : [],
  );
  expect(Math.abs(divergences[0] ?? 1)).toBeLessThan(1e-5);
  expect(divergences[2]).toBeGreaterThan(1e-4);
});

test('scores sequences for an algorithm that asks: under the weights in training, and under the first ones', {
  timeout: timeoutMs,
}, async () => {
  const learning = {
    groupSize: 2,
    learningRate: 1e-2,
    klCoefficient: 0.1,
    samplerCorrection: { type: 'truncate' },
  } as const;
  const { events } = await trainSmall(smallTrainer(folder, { steps: 2, algorithm: { type: 'rloo', ...learning } }));
  const metrics = events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));
  expect(metrics).toHaveLength(2);
  for (const step of metrics) {
    // The gateway's sampler had the weights in training, so there is nothing to correct.
    expect(step['sampler/logprob_gap']).toBeLessThan(1e-4);
    expect(step['sampler/effective_sample_fraction']).toBeCloseTo(1, 4);
  }
});

/** Metrics of every step: divergence of policy and sampler, and entropy. */
const stepMetricNames = [
  'policy/entropy',
  'policy/kl_sampler',
  'policy/kl_sampler_k3',
  'policy/logprob_gap',
  'policy/logprob_gap_max',
  'policy/effective_sample_fraction',
  'policy/clip_fraction',
  'staleness/mean',
  'staleness/max',
];

test('gives the model a value head for an algorithm that needs one, asks it and teaches it, also after a stop', {
  timeout: timeoutMs,
}, async () => {
  const algorithm = { type: 'ppo', groupSize: 2, learningRate: 1e-2 } as const;
  const trainer = smallTrainer(folder, { steps: 3, algorithm });
  const stop = new AbortController();
  const first = await trainSmall(trainer, {
    runId: 'valued',
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type === 'rollout-finished' && event.phase === 'step' && event.step === 3) stop.abort();
    },
  });
  const second = await trainSmall(trainer, { resume: 'valued' });
  // Everything that is drawn at random comes from the seed, so it is in the record.
  const { config, state } = await withStore(folder, (store) => store.getRun('valued'));
  expect([config['seed'], state['seed']]).toEqual([0, 0]);
  expect(state['publications']).toMatchObject([
    { step: 1, version: 1 },
    { step: 2, version: 2 },
    { step: 3, version: 3 },
  ]);
  const metrics = [...first.events, ...second.events].flatMap((event) =>
    event.type === 'stepped' ? [event.summary.metrics] : [],
  );
  expect(metrics).toHaveLength(3);
  // It says nothing at first; then it has learnt, and what it has learnt is in the checkpoint.
  expect(metrics[0]?.['value/mean']).toBe(0);
  for (const step of metrics.slice(1)) expect(Math.abs(step['value/mean'] ?? 0)).toBeGreaterThan(0.01);
  for (const step of metrics) {
    expect(step['value/error']).toBeGreaterThan(0);
    for (const name of stepMetricNames) expect(step[name], name).toSatisfy(Number.isFinite);
  }
});

test('trains with an algorithm of one’s own, and records its name', { timeout: timeoutMs }, async () => {
  const bold = policyGradientRecipe('bold', { groupSize: 2, learningRate: 1e-2, clipHigh: 0.4 });
  const { events, error } = await trainSmall(smallTrainer(folder, { algorithm: { type: 'custom', algorithm: bold } }));
  expect(error).toBeNull();
  expect(events.find((event) => event.type === 'started')).toMatchObject({ algorithm: 'bold' });
  expect(stepsOf(events, 'checkpointed')).toEqual([0, 1]);
  expect((await runOf(events)).config['algorithm']).toEqual({ type: 'custom' });
});

test('an evaluation whose rollouts all failed is not a measurement, and is repeated', {
  timeout: timeoutMs,
}, async () => {
  let isBroken = true;
  const agent: typeof countLetters = async (task, context) => {
    if (isBroken) throw new Error('the key is missing');
    return await countLetters(task, context);
  };
  const trainer = smallTrainer(folder, { agent });
  const first = await trainSmall(trainer, { runId: 'again' });
  expect(first.error).toMatchObject({ code: 'AGENT_FAILED', message: expect.stringMatching(/the key is missing/) });
  expect((await withStore(folder, (store) => store.getRun('again'))).status).toBe('failed');
  isBroken = false;
  const second = await trainSmall(trainer, { resume: 'again' });
  expect(second.events.find((event) => event.type === 'evaluated')).toMatchObject({ summary: { failed: 0 } });
  expect(second.events.at(-1)?.type).toBe('finished');
});

test('a stopped run resumes from its last step, and leaves the queue empty', { timeout: timeoutMs }, async () => {
  const trainer = smallTrainer(folder, { steps: 3 });
  const stop = new AbortController();
  const first = await trainSmall(trainer, {
    runId: 'stopped',
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type === 'rollout-finished' && event.phase === 'step' && event.step === 2) stop.abort();
    },
  });
  expect(first.error).toMatchObject({ code: 'CANCELLED', remedy: expect.stringContaining('--resume stopped') });
  expect((await withStore(folder, (store) => store.getRun('stopped'))).status).toBe('stopped');
  const second = await trainSmall(trainer, { resume: 'stopped' });
  expect(second.events.flatMap((event) => (event.type === 'stepped' ? [event.summary.step] : []))).toEqual([2, 3]);
  const { items } = await withStore(folder, (store) => store.queryRollouts({ runId: 'stopped' }));
  expect(items.map(({ status }) => status)).toEqual(Array<string>(4 + 3 * 8 + 4).fill('succeeded'));
});

test('a resumed run with fewer steps drops the rollouts it no longer needs', { timeout: timeoutMs }, async () => {
  const stop = new AbortController();
  await trainSmall(smallTrainer(folder, { steps: 3, agents: { concurrency: 1 } }), {
    runId: 'shorter',
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type === 'rollout-finished' && event.phase === 'step' && event.step === 2) stop.abort();
    },
  });
  const { events } = await trainSmall(smallTrainer(folder, { steps: 1 }), { resume: 'shorter' });
  expect(events.at(-1)?.type).toBe('finished');
  const { items } = await withStore(folder, (store) => store.queryRollouts({ runId: 'shorter' }));
  const ofStep2 = items.filter(({ metadata }) => metadata?.['phase'] === 'step-2').map(({ status }) => status);
  expect(ofStep2.length).toBe(8);
  expect(ofStep2).toContain('cancelled');
  expect(ofStep2.every((status) => status === 'cancelled' || status === 'succeeded')).toBe(true);
});

test('a run cannot be resumed with other rollouts, and reports its outcome again when it is finished', {
  timeout: timeoutMs,
}, async () => {
  const stop = new AbortController();
  stop.abort();
  await trainSmall(smallTrainer(folder), { runId: 'shaped', signal: stop.signal });
  const other = await trainSmall(smallTrainer(folder, { tasksPerStep: 3 }), { resume: 'shaped' });
  expect(other.error).toMatchObject({
    code: 'CONFIG',
    message: expect.stringMatching(/tasksPerStep was 4 and is now 3/),
  });
  const first = await trainSmall(smallTrainer(folder), { resume: 'shaped' });
  const again = await trainSmall(smallTrainer(folder), { resume: 'shaped' });
  expect(again.events.map(({ type }) => type)).toEqual(['nothing-left', 'finished']);
  const outcome = (events: readonly TrainingEvent[]): unknown =>
    events.flatMap((event) => (event.type === 'finished' ? [{ ...event.summary, seconds: 0 }] : []));
  expect(outcome(again.events)).toEqual(outcome(first.events));
});
