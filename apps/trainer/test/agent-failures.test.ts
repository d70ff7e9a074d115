import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Agent } from '@agentlightning/runner';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { TrainConfig, TrainingEvent } from '../src/index.ts';
import { ask, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-failures-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function train(
  agent: Agent<SmallTask>,
  changes: Partial<TrainConfig<SmallTask>> = {},
): Promise<readonly TrainingEvent[]> {
  const { events, error } = await trainSmall(smallTrainer(folder, { agent, ...changes }));
  if (error !== null) throw error;
  return events;
}

const warnings = (events: readonly TrainingEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));

test('occasional failures of an agent cause a warning, and training continues', async () => {
  let calls = 0;
  const events = await train(async (task) => {
    const call = calls++;
    const text = await ask(task);
    if (call % 6 === 0) throw new Error('the printer is on fire');
    return text.length;
  });
  expect(warnings(events).join()).toMatch(/of 8 rollouts failed; the first: .*the printer is on fire/);
  expect(events.at(-1)?.type).toBe('finished');
});

/** Throws on most responses, as a parser does on malformed ones. */
const parsesAnswer: Agent<SmallTask> = async (task, context) => {
  const text = await ask(task);
  if (Number(context.metadata?.['sample']) > 0) throw new SyntaxError(`no JSON: ${text}`);
  return 1;
};

test('failures of an agent count 0 in the groups, the metrics and the curve, and are reported with file and line', async () => {
  const events = await train(parsesAnswer, { algorithm: { type: 'grpo', groupSize: 4 }, agents: { concurrency: 4 } });
  const { metrics, reward } = events.flatMap((event) => (event.type === 'stepped' ? [event.summary] : []))[0] ?? {};
  expect(reward).toBe(0.25);
  expect(metrics).toMatchObject({
    'reward/mean': 0.25,
    'collection/reward_mean': 0.25,
    'rollouts/used': 16,
    'groups/constant': 0,
    'failures/agent_share': 0.75,
  });
  const [condition] = events.flatMap((event) => (event.type === 'warning' ? (event.condition ?? []) : []));
  expect(condition).toMatchObject({ name: 'agent-failures', step: 1 });
  expect(condition?.message).toMatch(/75 % .*SyntaxError: no JSON: .*agent-failures\.test\.ts:\d+ \(agl show ro-/);
  expect(warnings(events).filter((message) => message.includes('no JSON') && message.includes('of 16'))).toEqual([]);
});

test('failures of an agent are left out with `failedReward: null`', async () => {
  const events = await train(parsesAnswer, { algorithm: { type: 'grpo', groupSize: 4 }, reward: { failed: null } });
  const [step] = events.flatMap((event) => (event.type === 'stepped' ? [event.summary] : []));
  expect(step).toMatchObject({ reward: 1, metrics: { 'reward/mean': 1, 'rollouts/used': 4 } });
  const evaluated = events.flatMap((event) => (event.type === 'evaluated' ? [event.summary] : []));
  expect(evaluated).toMatchObject([{ missing: 0 }, { missing: 0 }]);
});

test('an agent that always throws stops the run with its error', async () => {
  const failing = train(async () => {
    throw new Error('no hands');
  });
  await expect(failing).rejects.toMatchObject({ code: 'AGENT_FAILED', message: expect.stringMatching(/no hands/) });
});

test('an agent that hangs fails by timeout, and training continues', async () => {
  const hanging: Agent<SmallTask> = async (task) => {
    if (task.index % 4 === 0) return await new Promise<number>(() => undefined);
    return (await ask(task)).length;
  };
  const events = await train(hanging, { limits: { rolloutTimeoutMs: 1000 } });
  expect(events.at(-1)?.type).toBe('finished');
  const store = await openStore(path.join(folder, 'agl.db'));
  const { items } = await store.queryRollouts({ statusIn: ['failed'] });
  expect(items.length).toBeGreaterThan(0);
  expect((await store.getLatestAttempt(items[0]?.rolloutId ?? ''))?.status).toBe('timeout');
  await store.close();
});

test('an agent that blocks the event loop beyond its time limit fails by timeout', async () => {
  const blocking: Agent<SmallTask> = (task) => {
    const until = performance.now() + 2500;
    while (performance.now() < until);
    return task.index;
  };
  const once = { agents: { concurrency: 1 }, evaluation: { tasks: 2 } };
  await expect(train(blocking, { ...once, limits: { rolloutTimeoutMs: 500, maxAttempts: 1 } })).rejects.toMatchObject({
    code: 'AGENT_FAILED',
    message: expect.stringMatching(/The agent did not finish within 500 ms/),
  });
});

test('an agent that never calls the model stops the run and says how to connect it', async () => {
  await expect(train(async () => 1)).rejects.toMatchObject({
    code: 'NOTHING_TO_TRAIN',
    remedy: expect.stringMatching(/traceFetch/),
  });
});

test('an agent without any reward stops the run', async () => {
  const silent: Agent<SmallTask> = async (task) => void (await ask(task));
  await expect(train(silent)).rejects.toMatchObject({ code: 'INVALID_REWARD' });
});

test('several parts of a reward without a primary one fail the rollout, and the message has the remedy', async () => {
  const parts: Agent<SmallTask> = async (task) => {
    await ask(task);
    return { correct: 1, brief: 0 };
  };
  await expect(train(parts)).rejects.toMatchObject({
    message: expect.stringMatching(/\(correct, brief\) .* call one of them "primary"/),
  });
});

test('a reward that is not a number fails the rollout and is named', async () => {
  const broken: Agent<SmallTask> = async (task) => {
    await ask(task);
    return Number.NaN;
  };
  await expect(train(broken)).rejects.toMatchObject({ message: expect.stringMatching(/INVALID_REWARD.*NaN/) });
});
