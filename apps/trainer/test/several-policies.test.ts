import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { emitReward, withAgent } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { TrainableModel, TrainingDatum } from '@agentlightning/core/training-runtime';
import { traceFetch } from '@agentlightning/fetch';
import { serveGateway } from '@agentlightning/gateway';
import type { Agent } from '@agentlightning/runner';
import { connectRuntime } from '@agentlightning/runtime';
import { startCpuRuntime } from '@agentlightning/runtime-cpu';
import { openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type PolicyConfig, type TrainConfig, Trainer, type TrainingEvent } from '../src/index.ts';
import { type StockTask, stockTasks } from './learning/stock-task.ts';

const timeoutMs = 600_000;
const client = new OpenAI({ apiKey: 'none', fetch: traceFetch(), maxRetries: 0 });

let folder = '';
let server: Awaited<ReturnType<typeof startCpuRuntime>>;
let runtime: Awaited<ReturnType<typeof connectRuntime>>;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-policies-'));
  server = await startCpuRuntime({ checkpointDir: path.join(folder, 'checkpoints') });
  runtime = await connectRuntime({ address: server.address, apiKey: server.apiKey });
});
afterAll(async () => {
  await runtime.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const tools: OpenAI.ChatCompletionFunctionTool[] = [
  { type: 'function', function: { name: 'count_stock', parameters: { properties: { part: { type: 'string' } } } } },
];

async function say(
  messages: OpenAI.ChatCompletionMessageParam[],
  more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>,
): Promise<OpenAI.ChatCompletionMessage | undefined> {
  const completion = await client.chat.completions.create({ model: 'any', messages, ...more });
  return completion.choices[0]?.message;
}

/** Calls the tool with the part that is asked for; 1 when it is the right call. */
async function find({ part }: StockTask): Promise<number> {
  const message = await say([{ role: 'user', content: `How many ${part}?` }], { tools, max_tokens: 8 });
  const [call] = message?.tool_calls ?? [];
  return call?.type === 'function' && call.function.arguments === JSON.stringify({ part }) ? 1 : 0;
}

/** Repeats the number that a tool has returned; 1 when it is correct. */
async function tell({ part, count }: StockTask): Promise<number> {
  const called = { id: 'call', type: 'function', function: { name: 'count_stock', arguments: `{"part":"${part}"}` } };
  const message = await say(
    [
      { role: 'user', content: `How many ${part}?` },
      { role: 'assistant', tool_calls: [{ ...called, type: 'function' }] },
      { role: 'tool', tool_call_id: 'call', content: count },
    ],
    { tools, max_tokens: 4 },
  );
  return message?.content === count ? 1 : 0;
}

/** Two agents, each rewarded for its own part; the rollout, for both. */
const team: Agent<StockTask> = async (task) => {
  const judged = async (name: string, work: (task: StockTask) => Promise<number>): Promise<number> =>
    await withAgent(name, async () => {
      const reward = await work(task);
      emitReward(reward);
      return reward;
    });
  return ((await judged('finder', find)) + (await judged('teller', tell))) / 2;
};

const learning = {
  type: 'grpo',
  groupSize: 8,
  learningRate: 2e-3,
  loss: 'importance_sampling',
  entropyCoefficient: 0.01,
  optimizer: { beta2: 0.99 },
  creditAssignment: { type: 'by-agent' },
} as const;

interface Run {
  readonly events: readonly TrainingEvent[];
  readonly rewardAfter: number;
  readonly rewardBefore: number;
  readonly metrics: readonly Readonly<Record<string, number>>[];
}

async function train(
  runId: string,
  policies: Readonly<Record<string, PolicyConfig>>,
  changes: Partial<TrainConfig<StockTask>> = {},
): Promise<Run> {
  const events: TrainingEvent[] = [];
  const trainer = new Trainer<StockTask>({
    agent: team,
    tasks: { train: stockTasks(1, 48), test: stockTasks(100, 96) },
    runtime: { type: 'grpc', address: server.address, apiKey: server.apiKey },
    algorithm: learning,
    policies,
    steps: 10,
    checkpoints: { every: 1 },
    tasksPerStep: 6,
    agents: { concurrency: 48 },
    run: { ...changes.run, dataDir: folder },
    ...changes,
  });
  const summary = await trainer.fit({ runId, onEvent: (event) => events.push(event) });
  return {
    events,
    rewardBefore: summary.before.reward,
    rewardAfter: summary.after.reward,
    metrics: events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : [])),
  };
}

function probe(): TrainingDatum {
  const tokenIds = Int32Array.from({ length: 24 }, (_, index) => 40 + index);
  const count = tokenIds.length - 1;
  return {
    tokenIds,
    trained: [{ start: 1, end: tokenIds.length }],
    samplingLogprobs: new Float32Array(count).fill(-1),
    advantages: new Float32Array(count).fill(1),
    weights: new Float32Array(count).fill(1),
    temperature: 1,
    rolloutId: 'ro-1',
    groupId: 'gr-1',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  };
}

/** What a model thinks of some tokens: other weights think otherwise. */
async function opinion(model: TrainableModel): Promise<readonly number[]> {
  const [logprobs] = await model.logprobs({ data: [probe()] });
  return [...(logprobs ?? [])];
}

/** The untrained model; the second policy of a run has another seed than the first. */
const modelOf = (modelId: string): Promise<TrainableModel> =>
  runtime.createModel({ baseModel: 'tiny-chat', modelId, seed: modelId.endsWith('teller') ? 1 : 0 });

test('of two agents only the chosen one is trained, and training both beats freezing either', {
  tags: ['long'],
  timeout: timeoutMs,
}, async () => {
  const both = { finder: { agents: ['finder'] }, teller: { agents: ['teller'] } };
  const joint = await train('joint', both);
  const finderOnly = await train('finder-only', { ...both, teller: { agents: ['teller'], train: false } });
  const tellerOnly = await train('teller-only', { ...both, finder: { agents: ['finder'], train: false } });

  const fresh = await opinion(await modelOf('untouched'));
  for (const [modelId, isTrained] of [
    ['joint--finder', true],
    ['joint--teller', true],
    ['finder-only--finder', true],
    ['finder-only--teller', false],
    ['teller-only--finder', false],
    ['teller-only--teller', true],
  ] as const) {
    const model = await modelOf(modelId);
    expect([modelId, (await model.state()).step]).toEqual([modelId, isTrained ? 10 : 0]);
    if (isTrained) expect(await opinion(model)).not.toEqual(fresh);
    else expect(await opinion(model)).toEqual(fresh);
  }

  expect(joint.rewardBefore).toBeLessThan(0.5);
  expect(joint.rewardAfter).toBeGreaterThan(finderOnly.rewardAfter + 0.05);
  expect(joint.rewardAfter).toBeGreaterThan(tellerOnly.rewardAfter + 0.05);
});

/** Calls for one agent that a policy has, for one that none has, and for a policy that it names itself. */
const mixed: Agent<StockTask> = async (task, { resources }) => {
  const messages = [{ role: 'user' as const, content: task.part }];
  const resource = resources['critic'];
  const criticModel = resource?.resourceType === 'llm' ? resource.model : 'none';
  const answers = [
    await withAgent('writer', () => say(messages, { max_tokens: 3 })),
    await withAgent('stranger', () => say(messages, { max_tokens: 3 })),
    await withAgent('writer', () => say(messages, { max_tokens: 3, model: 'critic' })),
    await say(messages, { max_tokens: 3, model: criticModel }),
  ];
  return answers.map((message) => message?.content?.length ?? 0).reduce((sum, length) => sum + length, 0);
};

const small: Partial<TrainConfig<StockTask>> = {
  agent: mixed,
  tasks: { train: stockTasks(1, 8), test: stockTasks(2, 4) },
  algorithm: { type: 'rloo', groupSize: 2, learningRate: 1e-3 },
  tasksPerStep: 4,
};

test('a call goes to the policy that it names, else to its agent’s, else to the first; each learns from its own', {
  timeout: timeoutMs,
}, async () => {
  const store = await openStore(path.join(folder, 'mixed.db'));
  onTestFinished(() => store.close());
  const policies = { main: {}, writer: { agents: ['writer'] }, critic: { model: 'tiny-random' } };
  const { events, metrics } = await train('mixed', policies, {
    ...small,
    steps: 2,
    store: { url: `sqlite:${path.join(folder, 'mixed.db')}` },
  });
  const [rollout] = (await store.queryRollouts({ runId: 'mixed', modeIn: ['train'] })).items;
  const { items } = await store.querySpans({ rolloutId: rollout?.rolloutId ?? '' });
  const calls = items.map(modelCallFromSpan).filter((call) => call !== null);
  expect(calls.map(({ model }) => model)).toEqual(['mixed--writer', 'mixed--main', 'mixed--critic', 'mixed--critic']);

  for (const step of metrics) {
    expect(step['reward/mean']).toBeGreaterThan(0);
    expect(step).not.toHaveProperty('policy/entropy');
    // 8 rollouts of 4 calls, of which two are the critic's.
    expect(step).toMatchObject({
      'main/calls/untrainable/other_model': 24,
      'critic/calls/untrainable/other_model': 16,
    });
    for (const policy of ['main', 'writer', 'critic']) expect(step[`${policy}/policy/entropy`]).toBeGreaterThan(0);
  }
  const saved = events.flatMap((event) => (event.type === 'checkpointed' ? [`${event.step} ${event.policy}`] : []));
  expect(saved.toSorted()).toEqual(
    ['0', '1', '2'].flatMap((step) => ['critic', 'main', 'writer'].map((name) => `${step} ${name}`)),
  );
});

test('a run of several policies resumes each of them from its last state', {
  timeout: timeoutMs,
  tags: ['long'],
}, async () => {
  const config: TrainConfig<StockTask> = {
    agent: mixed,
    tasks: { train: stockTasks(1, 8), test: stockTasks(2, 4) },
    algorithm: { type: 'rloo', groupSize: 2, learningRate: 1e-3 },
    policies: { main: {}, critic: { algorithm: { type: 'sft', groupSize: 2, learningRate: 1e-3 } } },
    runtime: { type: 'grpc', address: server.address, apiKey: server.apiKey },
    steps: 3,
    checkpoints: { every: 1 },
    tasksPerStep: 4,
    run: { dataDir: folder },
    store: { url: `sqlite:${path.join(folder, 'resumed.db')}` },
  };
  const stop = new AbortController();
  const stopped = new Trainer(config).fit({
    runId: 'resumed',
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type === 'rollout-finished' && event.phase === 'step' && event.step === 3) stop.abort();
    },
  });
  await expect(stopped).rejects.toMatchObject({ code: 'CANCELLED' });
  const main = await runtime.createModel({ baseModel: 'tiny-chat', modelId: 'resumed--main', seed: 0 });
  // Simulates further steps of the runtime: the run resumes from the checkpoint, not from its current state.
  for (let step = 0; step < 2; step += 1) {
    await main.forwardBackward({ data: [probe()] }, { name: 'importance_sampling', parameters: {} });
    await (await main.optimStep({ learningRate: 1e-3 })).result;
  }
  expect((await main.state()).step).toBe(4);
  const steps: number[] = [];
  await new Trainer(config).fit({
    resume: 'resumed',
    onEvent: (event) => {
      if (event.type === 'stepped') steps.push(event.summary.step);
    },
  });
  expect(steps).toEqual([3]);
  expect((await main.state()).step).toBe(3);
  await expect(new Trainer({ ...config, policies: { main: {} } }).fit({ resume: 'resumed' })).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringMatching(/policies was main .*, critic .* and is now main/),
  });
});

test('a gateway that runs elsewhere says by its upstreams who answers', { timeout: timeoutMs }, async () => {
  const store = await openStore(path.join(folder, 'elsewhere.db'));
  onTestFinished(() => store.close());
  const gateway = await serveGateway({
    store,
    upstream: [
      { baseUrl: server.inferenceUrl, apiKey: server.apiKey, model: 'elsewhere--main' },
      { baseUrl: server.inferenceUrl, apiKey: server.apiKey, model: 'elsewhere--teller', agents: ['teller'] },
    ],
  });
  onTestFinished(() => gateway.close());
  const { metrics } = await train(
    'elsewhere',
    { main: {}, teller: { agents: ['teller'] } },
    {
      ...small,
      agent: team,
      steps: 1,
      gateway: { url: gateway.url },
      store: { url: `sqlite:${path.join(folder, 'elsewhere.db')}` },
    },
  );
  expect(metrics).toMatchObject([
    { 'main/calls/untrainable/other_model': 8, 'teller/calls/untrainable/other_model': 8 },
  ]);
});

test('a policy that serves no call ends the run in step 1, with the agents of the calls', {
  timeout: timeoutMs,
}, async () => {
  const policies = { main: {}, critic: { agents: ['critik'] } };
  await expect(train('typo', policies, { ...small, agent: team, steps: 2 })).rejects.toThrow(
    'policy critic match no model call of step 1; agents seen: finder at typo--main (8), teller at typo--main (8)',
  );
});
