import type { ServerResponse } from 'node:http';
import { AgentLightningError, type Store } from '@agentlightning/core';
import { modelCallFromSpan, readProductionMetadata } from '@agentlightning/core/spans';
import { openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type DeploymentRoute, type ServedGateway, serveGateway, type Upstream } from '../src/index.ts';
import { type BareUpstream, quickRetry, startUpstream } from './gateway-fixture.ts';

let store: Store;
let stable: BareUpstream;
let candidate: BareUpstream;
/** How the candidate responds. */
let respond: (response: ServerResponse) => void;
let route: DeploymentRoute;
const opened: AsyncDisposable[] = [];

beforeEach(async () => {
  store = await openStore(':memory:');
  respond = (response) => completion(response, 'candidate');
  stable = await startUpstream((response) => completion(response, 'stable'));
  candidate = await startUpstream((response) => respond(response));
  route = { live: 'run-1@1', candidate: { version: 'run-2@1', share: 0.3, key: 'a key' } };
  opened.push(stable, candidate);
});
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]();
  await store.close();
});

function completion(response: ServerResponse, text: string): void {
  if (response.req.url?.endsWith('/chat/completions') !== true) {
    response.writeHead(404).end();
    return;
  }
  const message = { role: 'assistant', content: text };
  const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
  response.writeHead(200, { 'content-type': 'application/json' });
  const body = { id: 'c-1', object: 'chat.completion', created: 1, model: text, usage };
  response.end(JSON.stringify({ ...body, choices: [{ index: 0, message, finish_reason: 'stop' }] }));
}

function respondWith(next: (response: ServerResponse) => void): void {
  respond = next;
}

function upstreams(): readonly Upstream[] {
  return [
    { baseUrl: stable.baseUrl, model: 'weights-1', versions: ['run-1@1'], capture: 'text' },
    { baseUrl: candidate.baseUrl, model: 'weights-2', versions: ['run-2@1'], capture: 'text' },
  ];
}

async function start(options: { readonly store?: Store; readonly firstByteTimeoutMs?: number } = {}) {
  const deployments = {
    names: () => ['support-agent'],
    route: (name: string) => (name === 'support-agent' ? route : null),
  };
  const gateway = await serveGateway({ store, upstream: upstreams(), deployments, retry: quickRetry, ...options });
  opened.push({ [Symbol.asyncDispose]: () => gateway.close() });
  return gateway;
}

interface Reply {
  readonly text: string | null | undefined;
  readonly rolloutId: string;
  readonly version: string | null;
}

async function ask(gateway: ServedGateway, user: string): Promise<Reply> {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'unused', maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  const { data, response } = await client.chat.completions
    .create({ model: 'support-agent', messages, safety_identifier: user })
    .withResponse();
  return {
    text: data.choices[0]?.message.content,
    rolloutId: response.headers.get('x-rollout-id') ?? '',
    version: response.headers.get('x-agl-deployment-version'),
  };
}

const users = Array.from({ length: 200 }, (_, index) => `user-${index}`);

async function usersOfCandidate(gateway: ServedGateway): Promise<readonly string[]> {
  const replies = await Promise.all(users.map((user) => ask(gateway, user)));
  return users.filter((_, index) => replies[index]?.text === 'candidate');
}

test('a share of the users has the candidate, the same ones at every gateway, and a larger share keeps them', async () => {
  const [one, other] = [await start(), await start()];
  const first = await usersOfCandidate(one);
  expect(first.length).toBeGreaterThan(40);
  expect(first.length).toBeLessThan(80);
  expect(await usersOfCandidate(other)).toEqual(first);
  route = { ...route, candidate: { version: 'run-2@1', share: 0.6, key: 'a key' } };
  const more = await usersOfCandidate(one);
  expect(more.length).toBeGreaterThan(90);
  expect(more).toEqual(expect.arrayContaining([...first]));
  route = { ...route, candidate: { version: 'run-2@1', share: 0.3, key: 'another key' } };
  expect(await usersOfCandidate(one)).not.toEqual(first);
});

test('responses have the name of the deployment as their model, in every API, and the record has that of the upstream', async () => {
  route = { ...route, candidate: null };
  const gateway = await start();
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'unused', maxRetries: 0 });
  const model = 'support-agent';
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
  const models = [data.model];
  for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
    models.push(chunk.model);
  }
  models.push((await client.responses.create({ model, input: 'Hello' })).model);
  for await (const event of await client.responses.create({ model, input: 'Hello', stream: true })) {
    if (event.type === 'response.created' || event.type === 'response.completed') models.push(event.response.model);
  }
  const message = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 8, messages }),
  });
  models.push(((await message.json()) as { readonly model: string }).model);
  expect(models.length).toBeGreaterThan(5);
  expect(new Set(models)).toEqual(new Set([model]));
  await gateway.drain();
  const { items: spans } = await store.querySpans({ rolloutId: response.headers.get('x-rollout-id') ?? '' });
  expect(spans.map(modelCallFromSpan).find((call) => call !== null)).toMatchObject({ responseModel: 'stable' });
});

test('each call is a trace of the deployment with its version and user, and its id takes feedback', async () => {
  const gateway = await start();
  const reply = await ask(gateway, 'ada');
  await gateway.drain();
  const rollout = await store.getRollout(reply.rolloutId);
  expect(rollout).toMatchObject({ runId: 'support-agent', mode: 'production', status: 'succeeded', input: 'Hello' });
  const facts = { version: reply.version, trial: 'a key', fallbackFrom: null, user: 'ada', conversation: null };
  expect(readProductionMetadata(rollout.metadata)).toEqual(facts);
  expect(await store.recordFeedback({ rolloutId: reply.rolloutId, label: 'good', source: 'user' })).toMatchObject({
    score: 1,
  });
  const [upstream] = reply.version === 'run-1@1' ? stable.requests : candidate.requests;
  expect(JSON.parse(upstream?.body ?? '')).toMatchObject({
    model: reply.version === 'run-1@1' ? 'weights-1' : 'weights-2',
  });
});

test.each([
  ['refuses connections', async () => await candidate[Symbol.asyncDispose]()],
  ['responds with 503', () => respondWith((response) => response.writeHead(503).end())],
  ['responds with 429', () => respondWith((response) => response.writeHead(429).end())],
  ['sends no byte in time', () => respondWith(() => undefined)],
])('the stable version responds when the candidate %s, and the trace says so', async (_, break_) => {
  route = { ...route, candidate: { version: 'run-2@1', share: 1, key: 'a key' } };
  const gateway = await start({ firstByteTimeoutMs: 200 });
  await break_();
  const reply = await ask(gateway, 'ada');
  expect(reply).toMatchObject({ text: 'stable', version: 'run-1@1' });
  await gateway.drain();
  const { items } = await store.queryRollouts({ runId: 'support-agent' });
  expect(items).toMatchObject([{ rolloutId: reply.rolloutId, status: 'succeeded' }]);
  expect(readProductionMetadata(items[0]?.metadata ?? null)).toMatchObject({
    version: 'run-1@1',
    fallbackFrom: 'run-2@1',
  });
  const metrics = await gateway.metrics();
  expect(metrics).toContain('{deployment="support-agent",role="candidate",outcome="fell_back"} 1');
});

test('a request that the candidate refuses is returned to the client and recorded as its failure', async () => {
  route = { ...route, candidate: { version: 'run-2@1', share: 1, key: 'a key' } };
  respond = (response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');
  const gateway = await start();
  await expect(ask(gateway, 'ada')).rejects.toMatchObject({ status: 400 });
  await gateway.drain();
  const { items } = await store.queryRollouts({ runId: 'support-agent' });
  expect(items).toMatchObject([{ status: 'failed' }]);
  expect(readProductionMetadata(items[0]?.metadata ?? null)).toMatchObject({ version: 'run-2@1', fallbackFrom: null });
});

test('a stream of the stable version replaces that of a candidate that fails, and a broken stream is a failure', async () => {
  route = { ...route, candidate: { version: 'run-2@1', share: 1, key: 'a key' } };
  const gateway = await start();
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'unused', maxRetries: 0 });
  const request = { model: 'support-agent', messages: [{ role: 'user' as const, content: 'Hello' }], user: 'ada' };
  respondWith((response) => response.writeHead(500).end());
  const { data, response } = await client.chat.completions.create({ ...request, stream: true }).withResponse();
  let text = '';
  for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? '';
  expect([text, response.headers.get('x-agl-deployment-version')]).toEqual(['stable', 'run-1@1']);
  respondWith((broken) => {
    broken.writeHead(200, { 'content-type': 'text/event-stream' });
    broken.write('data: {"id":"c","choices":[{"index":0,"delta":{"content":"cand"}}]}\n\n', () => broken.destroy());
  });
  const second = await client.chat.completions.create({ ...request, stream: true });
  const readAll = async (): Promise<void> => {
    for await (const _ of second);
  };
  await expect(readAll()).rejects.toThrow();
  await gateway.drain();
  const { items } = await store.queryRollouts({ runId: 'support-agent' });
  const first = response.headers.get('x-rollout-id');
  const statuses = items.map(({ rolloutId, status }) => [rolloutId === first, status]);
  expect(statuses).toEqual(
    expect.arrayContaining([
      [true, 'succeeded'],
      [false, 'failed'],
    ]),
  );
});

test('models are the deployments; other models and addresses of attempts are refused', async () => {
  const { url } = await start();
  expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ data: [{ id: 'support-agent' }] });
  const post = async (path: string, model: string): Promise<number> =>
    (await fetch(url + path, { method: 'POST', body: JSON.stringify({ model, messages: [], input: 'x' }) })).status;
  expect(await post('/v1/chat/completions', 'weights-1')).toBe(404);
  expect(await post('/rollout/ro-1/attempt/at-1/v1/chat/completions', 'support-agent')).toBe(404);
  expect(await post('/v1/embeddings', 'support-agent')).toBe(404);
});

test('while the store is away, calls respond as usual; they are recorded when it is back', async () => {
  let isAway = true;
  const recordTraces: Store['recordTraces'] = async (...traces) => {
    if (isAway) throw new AgentLightningError({ code: 'UNREACHABLE', message: 'the store is away' });
    return await store.recordTraces(...traces);
  };
  const gateway = await start({
    store: new Proxy(store, { get: (target, name) => (name === 'recordTraces' ? recordTraces : bound(target, name)) }),
  });
  const replies = await Promise.all(users.slice(0, 20).map((user) => ask(gateway, user)));
  expect(await gateway.metrics()).toContain('agl_gateway_deployment_records_waiting 20');
  isAway = false;
  await gateway.drain();
  const { items } = await store.queryRollouts({ runId: 'support-agent' });
  expect(new Set(items.map(({ rolloutId }) => rolloutId))).toEqual(new Set(replies.map(({ rolloutId }) => rolloutId)));
});

function bound(target: Store, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === 'function' ? value.bind(target) : value;
}
