import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { traceFetch } from '@agentlightning/fetch';
import type { Agent } from '@agentlightning/runner';
import { openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TrainConfig, Trainer, type TrainingEvent } from '../src/index.ts';

interface Task {
  readonly question: string;
  readonly index: number;
}

const client = new OpenAI({ apiKey: 'none', fetch: traceFetch(), maxRetries: 0 });

async function ask(task: Task): Promise<string> {
  const messages = [{ role: 'user' as const, content: task.question }];
  const completion = await client.chat.completions.create({ model: 'any', messages, max_tokens: 4 });
  return completion.choices[0]?.message.content ?? '';
}

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-failures-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tasks = Array.from({ length: 8 }, (_, index) => ({ question: `Number ${index}?`, index }));

async function train(agent: Agent<Task>, changes: Partial<TrainConfig<Task>> = {}): Promise<readonly TrainingEvent[]> {
  const events: TrainingEvent[] = [];
  const trainer = new Trainer<Task>({
    agent,
    tasks: { train: tasks, test: tasks.slice(0, 4) },
    algorithm: { type: 'grpo', groupSize: 2 },
    runtime: { type: 'embedded', model: 'tiny-random' },
    steps: 1,
    tasksPerStep: 4,
    dataDir: folder,
    ...changes,
  });
  await trainer.train({ onEvent: (event) => events.push(event) });
  return events;
}

const warnings = (events: readonly TrainingEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));

test('an agent that throws now and then is warned of, and training goes on', async () => {
  let calls = 0;
  const events = await train(async (task) => {
    const call = calls++;
    const text = await ask(task);
    if (call % 3 === 0) throw new Error('the printer is on fire');
    return text.length;
  });
  expect(warnings(events).join()).toMatch(/of 8 rollouts failed; the first: .*the printer is on fire/);
  expect(events.at(-1)?.type).toBe('finished');
});

test('an agent that always throws stops the run with its error', async () => {
  const failing = train(async () => {
    throw new Error('no hands');
  });
  await expect(failing).rejects.toMatchObject({ code: 'AGENT_FAILED', message: expect.stringMatching(/no hands/) });
});

test('an agent that hangs fails by timeout, and training goes on', async () => {
  const hanging: Agent<Task> = async (task) => {
    if (task.index % 4 === 0) return await new Promise<number>(() => undefined);
    return (await ask(task)).length;
  };
  const events = await train(hanging, { rolloutTimeoutMs: 1000 });
  expect(events.at(-1)?.type).toBe('finished');
  const store = await openStore(path.join(folder, 'agl.db'));
  const { items } = await store.queryRollouts({ statusIn: ['failed'] });
  expect(items.length).toBeGreaterThan(0);
  expect((await store.getLatestAttempt(items[0]?.rolloutId ?? ''))?.status).toBe('timeout');
  await store.close();
});

test('an agent that never calls the model stops the run and says how to connect it', async () => {
  await expect(train(async () => 1)).rejects.toMatchObject({
    code: 'NOTHING_TO_TRAIN',
    remedy: expect.stringMatching(/traceFetch/),
  });
});

test('an agent without any reward stops the run', async () => {
  const silent: Agent<Task> = async (task) => void (await ask(task));
  await expect(train(silent)).rejects.toMatchObject({ code: 'INVALID_REWARD' });
});

test('a reward that is not a number fails the rollout and is named', async () => {
  const broken: Agent<Task> = async (task) => {
    await ask(task);
    return Number.NaN;
  };
  await expect(train(broken)).rejects.toMatchObject({ message: expect.stringMatching(/INVALID_REWARD.*NaN/) });
});
