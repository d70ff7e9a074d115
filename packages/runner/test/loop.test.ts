import { emitReward, type Span, type Store, withAgent } from '@agentlightning/core';
import { findRewards, modelCallFromSpan } from '@agentlightning/core/spans';
import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { traceFetch } from '@agentlightning/fetch';
import { type ServedGateway, serveGateway } from '@agentlightning/gateway';
import { openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Agent } from '../src/agent.ts';
import { runRollouts } from '../src/run-rollouts.ts';

let store: Store;
let model: ScriptedModel;
let gateway: ServedGateway;

beforeEach(async () => {
  store = await openStore(':memory:');
  // It requests the tool first, and returns the tool's result afterwards.
  model = await ScriptedModel.start(({ messages }) => {
    const last = messages.at(-1);
    return last?.role === 'tool' ? respondWith(`It is ${String(last.content)}.`) : callTool('add', { a: 2, b: 3 });
  });
  gateway = await serveGateway({ store, upstream: { baseUrl: model.baseUrl, model: 'tiny' } });
  await store.addResources({
    policy: {
      resourceType: 'proxy_llm',
      endpoint: `${gateway.url}/v1`,
      model: 'tiny',
      apiKey: null,
      samplingParameters: {},
    },
  });
});

afterEach(async () => {
  await gateway.close();
  await model.close();
  await store.close();
});

const client = new OpenAI({ apiKey: 'the-agents-own', baseURL: 'http://nowhere.invalid/v1', fetch: traceFetch() });

/** An agent with a tool and two model calls that emits a reward for each turn. */
const agent: Agent<{ readonly question: string; readonly isStreamed: boolean }> = async ({ question, isStreamed }) => {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  const first = await client.chat.completions.create({ model: 'any', messages });
  const message = first.choices[0]?.message;
  const call = message?.tool_calls?.[0];
  emitReward(0.25);
  if (message === undefined || call === undefined) return 0;
  messages.push(message, { role: 'tool', tool_call_id: call.id, content: '5' });
  const text = await withAgent('answerer', () => ask(messages, isStreamed));
  return text === 'It is 5.' ? 1 : 0;
};

async function ask(messages: OpenAI.ChatCompletionMessageParam[], isStreamed: boolean): Promise<string> {
  if (!isStreamed) {
    const whole = await client.chat.completions.create({ model: 'any', messages });
    return whole.choices[0]?.message.content ?? '';
  }
  let text = '';
  const stream = await client.chat.completions.create({ model: 'any', messages, stream: true });
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

async function spansOf(rolloutId: string): Promise<readonly Span[]> {
  return (await store.querySpans({ rolloutId })).items;
}

test('64 concurrent rollouts use the gateway, with every call recorded once under its parent', async () => {
  const inputs = Array.from({ length: 64 }, (_, index) => ({
    input: { question: `question ${index}`, isStreamed: index % 2 === 1 },
  }));
  const rollouts = await store.enqueueRollouts(inputs);
  const summary = await runRollouts({ store, agent, concurrency: 32, stopWhenIdle: true });
  expect(summary.succeeded).toBe(64);
  for (const [index, { rolloutId }] of rollouts.entries()) {
    const spans = await spansOf(rolloutId);
    const calls = spans.map(modelCallFromSpan).filter((call) => call !== null);
    expect(calls).toHaveLength(2);
    expect(calls.map((call) => call.isTrainable)).toEqual([true, true]);
    expect(calls.map((call) => call.request?.messages)).toEqual([
      [{ role: 'user', content: `question ${index}` }],
      expect.arrayContaining([{ role: 'user', content: `question ${index}` }]),
    ]);
    // The second prompt extends the first prompt and completion token by token.
    const [first, second] = calls;
    const before = [...(first?.promptTokenIds ?? []), ...(first?.choices[0]?.responseTokenIds ?? [])];
    expect(second?.promptTokenIds.slice(0, before.length)).toEqual(before);
  }
});

test('rewards are ordered between their calls, and calls are children of their agent', async () => {
  const [rollout] = await store.enqueueRollouts([{ input: { question: 'q', isStreamed: true } }]);
  await runRollouts({ store, agent, stopWhenIdle: true });
  const spans = await spansOf(rollout?.rolloutId ?? '');
  const [first, second] = spans.map(modelCallFromSpan).filter((call) => call !== null);
  const [turn, final] = findRewards(spans);
  expect(turn?.rewards[0]?.value).toBe(0.25);
  expect(final?.rewards[0]?.value).toBe(1);
  const order = [first, turn, second, final].map((entry) => entry?.sequenceId ?? 0);
  expect(order).toEqual([...order].sort((left, right) => left - right));

  const root = spans.find((span) => span.name === 'agentlightning.rollout');
  const answerer = spans.find((span) => span.name === 'invoke_agent answerer');
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  expect(byId.get(first?.spanId ?? '')?.parentId).toBe(root?.spanId);
  expect(byId.get(second?.spanId ?? '')?.parentId).toBe(answerer?.spanId);
  expect([first?.agentName, second?.agentName]).toEqual([null, 'answerer']);
  expect(new Set(spans.map((span) => span.traceId)).size).toBe(1);
});

test('an agent stopped during a call leaves a rollout that can be retried', async () => {
  const [rollout] = await store.enqueueRollouts([{ input: { question: 'q', isStreamed: false } }]);
  const rolloutId = rollout?.rolloutId ?? '';
  await model.close();
  model = await ScriptedModel.start(({ index }) =>
    index === 0 ? respondWith('never', { until: new Promise(() => {}) }) : respondWith('5'),
  );
  await gateway.close();
  gateway = await serveGateway({ store, upstream: { baseUrl: model.baseUrl, model: 'tiny' } });
  const policy = { endpoint: `${gateway.url}/v1`, model: 'tiny', apiKey: null, samplingParameters: {} };
  await store.updateResources(rollout?.resourcesId ?? '', { policy: { resourceType: 'proxy_llm', ...policy } });

  const stop = new AbortController();
  const run = runRollouts({ store, agent, signal: stop.signal, graceMs: 0 });
  while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  expect(await run).toMatchObject({ returned: 1 });
  expect((await store.getRollout(rolloutId)).status).toBe('requeuing');

  await runRollouts({ store, agent, stopWhenIdle: true });
  const { items: attempts } = await store.queryAttempts(rolloutId);
  expect(attempts.map((attempt) => attempt.status)).toEqual(['unresponsive', 'succeeded']);
});

test.each(['throws', 'hides'])(
  'an unreachable gateway is an infrastructure failure when the agent %s it',
  async (what) => {
    await gateway.close();
    const [rollout] = await store.enqueueRollouts([{ input: { question: 'q', isStreamed: false } }]);
    const impatient = new OpenAI({
      apiKey: 'none',
      baseURL: 'http://x.invalid/v1',
      maxRetries: 0,
      timeout: 300,
      fetch: traceFetch(),
    });
    const caller: Agent = async () => {
      const call = impatient.chat.completions.create({ model: 'any', messages: [] });
      await (what === 'hides' ? call.catch(() => null) : call);
      return 0;
    };
    await runRollouts({ store, agent: caller, stopWhenIdle: true });
    const attempt = await store.getLatestAttempt(rollout?.rolloutId ?? '');
    expect(attempt).toMatchObject({ status: 'failed', metadata: { error: { origin: 'infrastructure' } } });
    expect(findRewards(await spansOf(rollout?.rolloutId ?? ''))).toEqual([]);
  },
);

test('an agent whose call is rejected because the store has ended its attempt has not failed', async () => {
  const [rollout] = await store.enqueueRollouts([{ input: null }]);
  const rolloutId = rollout?.rolloutId ?? '';
  const patient = new OpenAI({ apiKey: 'none', baseURL: 'http://x.invalid/v1', maxRetries: 0, fetch: traceFetch() });
  const caller: Agent = async () => {
    await store.updateRollout(rolloutId, { status: 'cancelled' });
    await patient.chat.completions.create({ model: 'any', messages: [] });
    return 0;
  };
  await runRollouts({ store, agent: caller, stopWhenIdle: true });
  expect(model.requests).toHaveLength(0);
  expect(await store.getLatestAttempt(rolloutId)).toMatchObject({
    status: 'failed',
    metadata: { error: { code: 'CANCELLED', origin: 'infrastructure' } },
  });
});
