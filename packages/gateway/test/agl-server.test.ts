import { AttemptTokens } from '@agentlightning/core/protocol';
import { respondWith } from '@agentlightning/core/testing';
import { describe, expect, test } from 'vitest';
import { completionBody, type FixtureOptions, respondJson, startGateway, startUpstream } from './gateway-fixture.ts';

type Fields = Record<string, unknown>;

interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly key?: string;
}

async function startServer(options: FixtureOptions = {}) {
  const fixture = await startGateway({ upstream: [], aglServer: true, ...options });
  const ask = async <TBody = Fields>(path: string, { method, body, key }: Asked = {}): Promise<TBody> => {
    const response = await fetch(fixture.gateway.url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new TypeError(`${path}: ${response.status}: ${await response.text()}`);
    // Safe: the test controls the request and checks the response.
    return (response.status === 204 ? {} : await response.json()) as TBody;
  };
  const create = (...ids: string[]) => ask('/api/rollouts', { body: ids.map((id) => ({ rollout_id: id, input: {} })) });
  const end = async (id: string): Promise<void> => {
    await ask(`/api/rollouts/${id}`, { method: 'PATCH', body: { status: { state: 'failed' } } });
  };
  return { ...fixture, ask, create, end, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() };
}

const chat = { model: 'any', messages: [{ role: 'user', content: '2 + 3?' }] };
const proxyPath = '/proxy/rollout/a/attempt/0/mode/train/openai/v1/chat/completions';

describe('a rollout of a 1.0 trainer', () => {
  test('can be run by a runner', async () => {
    await using server = await startServer();
    await server.create('a');
    const [claimed] = await server.store.claimRollouts({ workerId: 'ours' });
    const attemptId = claimed?.attempt.attemptId ?? '';
    expect(await server.ask('/api/rollouts/a')).toMatchObject({
      rollout: { status: { state: 'running', last_attempt_id: attemptId } },
    });
    await server.ask('/api/rollouts/a/attempt/0/events', { body: { event_type: 'reward', data: { value: 1 } } });
    await server.store.updateAttempt('a', attemptId, { status: 'succeeded' });
    expect(await server.ask('/api/rollouts/a')).toMatchObject({
      rollout: { status: { state: 'succeeded' } },
      attempts: [attemptId],
    });
    expect(await server.ask('/api/rollouts/a/events')).toMatchObject([
      { event_type: 'reward', attempt_id: attemptId, data: { value: 1 } },
    ]);
  });

  test('rejects a reward event whose sums overflow', async () => {
    await using server = await startServer();
    await server.create('a');
    const post = server.ask('/api/rollouts/a/attempt/0/events', {
      body: { event_type: 'reward', data: { value: 1e300 } },
    });
    await expect(post).rejects.toThrow(/422.*is out of range: 1e\+300 is above the limit/);
    expect(await server.ask('/api/rollouts/a/events')).toEqual([]);
  });

  test('is isolated from other rollouts in the store', async () => {
    await using server = await startServer();
    await server.store.enqueueRollouts([{ rolloutId: 'theirs', input: 1 }]);
    expect(await server.ask('/api/rollouts?state_in=queuing')).toEqual([]);
    await expect(server.ask('/api/rollouts/theirs')).rejects.toThrow('404');
    await server.ask('/api/rollouts/theirs', { method: 'DELETE' });
    expect(await server.store.getRollout('theirs')).toMatchObject({ status: 'queuing' });
  });

  test('is dequeued when its controller claims it', async () => {
    await using server = await startServer();
    await server.create('a');
    await server.ask('/api/rollouts/a', { method: 'PATCH', body: { status: { state: 'running' } } });
    expect(await server.store.claimRollouts({ workerId: 'ours' })).toEqual([]);
    expect(await server.store.getRollout('a')).toMatchObject({ config: { timeoutMs: 3_720_000 } });
  });

  test('may make model calls before its controller reports it running', async () => {
    await using server = await startServer({ script: [respondWith('5')] });
    await server.ask('/api/models', { body: [{ model: 'policy', endpoint: server.model.baseUrl, version: 3 }] });
    await server.create('a');
    await server.ask(proxyPath, { body: chat });
    expect(await server.ask('/api/rollouts/a')).toMatchObject({
      rollout: { status: { state: 'queuing', last_attempt_id: null } },
      attempts: ['0'],
    });
    expect(server.model.requests[0]?.body).toMatchObject({ model: 'policy', temperature: 1 });
    expect(await server.ask('/api/rollouts/a/events')).toMatchObject([
      {
        event_type: 'model_request',
        attempt_id: '0',
        data: { status: 'ok', server: { model: 'policy', endpoint: server.model.baseUrl } },
      },
    ]);
  });
});

test('an untrainable call is reported as an error with the reason', async () => {
  const tooMany = completionBody({ usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 } });
  await using upstream = await startUpstream((response) => respondJson(response, tooMany));
  await using server = await startServer({ upstream: { baseUrl: upstream.baseUrl, model: 'policy' } });
  await server.create('a');
  await server.ask(proxyPath, { body: chat });
  expect(await server.ask('/api/rollouts/a/events?format=triplet')).toMatchObject([
    { data: { status: 'error', error: { message: '3 prompt token ids, but the usage says 4' } } },
  ]);
});

test('a call has the log-probability and the text of each of its tokens', async () => {
  await using upstream = await startUpstream((response) => respondJson(response, completionBody()));
  await using server = await startServer({ upstream: { baseUrl: upstream.baseUrl, model: 'policy' } });
  await server.create('a');
  await server.ask(proxyPath, { body: chat });
  const content = [
    { token: '5', logprob: -0.25 },
    { token: '<eos>', logprob: -0.5 },
  ];
  expect(await server.ask('/api/rollouts/a/events')).toMatchObject([
    { data: { response: { choices: [{ token_ids: [20, 21], logprobs: { content } }] } } },
  ]);
});

test.each([400, 500])('the error of an upstream with status %i is in the events unchanged', async (status) => {
  const error = { message: 'boom', type: 'server_error', code: 'E7' };
  await using upstream = await startUpstream((response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  });
  const retry = { maxRetries: 0 };
  await using server = await startServer({ upstream: { baseUrl: upstream.baseUrl, model: 'policy' }, retry });
  await server.create('a');
  await expect(server.ask(proxyPath, { body: chat })).rejects.toThrow('boom');
  await server.gateway.drain(5000);
  await expect
    .poll(() => server.ask<readonly unknown[]>('/api/rollouts/a/events'))
    .toMatchObject([{ data: { status: 'error', http_status: status, response: { error } } }]);
});

test('a call without a registered model is rejected with the reason', async () => {
  await using server = await startServer();
  await server.create('a');
  await expect(server.ask(proxyPath, { body: chat })).rejects.toThrow('503');
});

describe('after a restart', () => {
  test('models are still registered', async () => {
    await using before = await startServer();
    await before.ask('/api/models', { body: [{ model: 'policy', endpoint: before.model.baseUrl }] });
    await before.ask('/api/models', { body: [{ model: 'policy', endpoint: 'http://127.0.0.1:9/v1' }] });
    await using after = await startServer({ store: before.store });
    expect(after.gateway.upstreams().map(({ baseUrl }) => baseUrl)).toEqual([
      before.model.baseUrl,
      'http://127.0.0.1:9/v1',
    ]);
    await after.ask('/api/models', { method: 'DELETE' });
    expect(after.gateway.upstreams()).toEqual([]);
  });

  test('a reader of finished rollouts misses none, even if some were deleted', async () => {
    await using before = await startServer();
    await before.create('a', 'b', 'c');
    await before.end('a');
    await before.end('b');
    expect(await before.ask('/api/rollouts/terminal')).toMatchObject({ next_after: 2, total_terminal: 2 });
    await before.ask('/api/rollouts/a', { method: 'DELETE' });
    await using after = await startServer({ store: before.store });
    await after.end('c');
    expect(await after.ask('/api/rollouts/terminal?after=2')).toMatchObject({
      items: [{ rollout_id: 'c' }],
      next_after: 3,
      total_terminal: 3,
    });
  });
});

describe('keys', () => {
  const secret = 's'.repeat(32);

  test('one for model calls admits to nothing else if there is an admin key', async () => {
    await using server = await startServer({ apiKey: 'agents', adminKey: 'admin' });
    await expect(server.ask('/proxy/pause', { body: {}, key: 'agents' })).rejects.toThrow('403');
    expect(await server.ask('/proxy/pause', { body: {}, key: 'admin' })).toMatchObject({ paused: true });
  });

  test('one for agents requires another one for the trainer', async () => {
    await expect(startServer({ apiKey: 'agents' })).rejects.toThrow(/no `adminKey`/);
    await using server = await startServer({ apiKey: 'agents', adminKey: 'admin' });
    const models = { body: [{ model: 'm', endpoint: 'http://evil/v1' }], key: 'agents' };
    await expect(server.ask('/api/models', models)).rejects.toThrow('403');
  });

  test('in the data of events are redacted', async () => {
    await using server = await startServer();
    await server.create('a');
    const event = { event_type: 'note', data: { text: 'hi', request: { api_key: 'sk-secret' } } };
    const redacted = { text: 'hi', request: { api_key: '…' } };
    expect(await server.ask('/api/rollouts/a/attempt/0/events', { body: event })).toMatchObject({ data: redacted });
    expect(await server.ask('/api/rollouts/a/events')).toMatchObject([{ data: redacted }]);
  });

  test('an attempt token admits to the events of its attempt, and to rewards if it permits them', async () => {
    const tokens = new AttemptTokens({ secrets: [secret] });
    await using server = await startServer({ adminKey: 'admin', attemptTokens: tokens });
    await server.ask('/api/rollouts', { body: [{ rollout_id: 'a', input: 1 }], key: 'admin' });
    const [claimed] = await server.store.claimRollouts();
    const attemptId = claimed?.attempt.attemptId ?? '';
    const key = await tokens.create({ rolloutId: 'a', attemptId, mayReward: false });
    const path = `/api/rollouts/a/attempt/${attemptId}/events`;
    expect(await server.ask(path, { body: { event_type: 'note' }, key })).toMatchObject({ event_type: 'note' });
    await expect(server.ask(path, { body: { event_type: 'reward', data: { value: 1 } }, key })).rejects.toThrow('403');
    await expect(server.ask('/api/rollouts/a', { key })).rejects.toThrow('403');
  });

  test('an attempt token posts no model call, and no reward after the attempt has ended', async () => {
    const tokens = new AttemptTokens({ secrets: [secret] });
    await using server = await startServer({ adminKey: 'admin', attemptTokens: tokens });
    await server.ask('/api/rollouts', { body: [{ rollout_id: 'a', input: 1 }], key: 'admin' });
    const [claimed] = await server.store.claimRollouts();
    const attemptId = claimed?.attempt.attemptId ?? '';
    const key = await tokens.create({ rolloutId: 'a', attemptId });
    const path = `/api/rollouts/a/attempt/${attemptId}/events`;
    const data = { response: { prompt_token_ids: [1], choices: [{ token_ids: [2] }] } };
    const forged = server.ask(path, { body: { event_type: 'model_request', data }, key });
    await expect(forged).rejects.toThrow(/403.*model_request/);
    await server.store.updateAttempt('a', attemptId, { status: 'succeeded' });
    const late = server.ask(path, { body: { event_type: 'reward', data: { value: 1 } }, key });
    await expect(late).rejects.toThrow(/409.*Reward refused/);
    expect(await server.ask('/api/rollouts/a/events', { key: 'admin' })).toEqual([]);
  });
});
