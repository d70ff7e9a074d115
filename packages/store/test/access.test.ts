import { AttemptTokens, accessRoles, rewardSourceKey, roleRights, spanInputCodec } from '@agentlightning/core/protocol';
import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan, ManualClock } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { keyRoles } from '../src/access/access-key.ts';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../src/index.ts';
import { storeRoutes } from '../src/server/route-handler.ts';

const attemptTokens = new AttemptTokens({ secrets: ['s'.repeat(32)] });

/** Sends a request; the status and the error of the response. */
async function call(
  url: string,
  { key, method = 'GET', body }: { readonly key?: string; readonly method?: string; readonly body?: unknown } = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

describe('every route', () => {
  let store: SqlStore;
  let server: StoreServer;
  const keys = new Map<string, string>();
  const holders = ['anonymous', ...accessRoles] as const;
  const rights = new Map(storeRoutes.map(([, { method, path, right }]) => [`${method} ${path}`, right]));

  beforeAll(async () => {
    store = await openStore(':memory:');
    server = await createStoreServer({ store, port: 0, apiKey: 'the one key', attemptTokens });
    for (const role of keyRoles) keys.set(role, (await store.createAccessKey({ name: role, role })).key);
    keys.set('attempt', await attemptTokens.create({ rolloutId: 'ro-1', attemptId: 'at-1' }));
  });
  afterAll(async () => {
    await server.close();
    await store.close();
  });

  test.each([...rights].flatMap(([route, right]) => holders.map((holder) => [route, holder, right] as const)))(
    '%s by %s',
    async (route, holder, right) => {
      const [method = '', path = ''] = route.split(' ');
      const isAllowed = right === 'public' || (holder !== 'anonymous' && roleRights[holder].includes(right));
      const key = keys.get(holder);
      // A stream of events would not end: what is asked of it is wrong.
      const url = `${server.url}${path.replaceAll(/:(\w+)/g, 'unknown')}${path.endsWith('/events') ? '?kind_in=nothing' : ''}`;
      const { status, text } = await call(url, {
        method,
        ...(key === undefined ? {} : { key }),
        ...(method === 'POST' ? { body: 7 } : {}),
      });
      expect(status).toBeLessThan(502);
      if (holder === 'anonymous' && !isAllowed) expect(status).toBe(401);
      else if (!isAllowed) {
        expect(status).toBe(403);
        expect(text).toContain(holder === 'attempt' ? 'The token of attempt' : `A key with the role ${holder}`);
      } else if (holder !== 'attempt') expect([401, 403]).not.toContain(status);
    },
  );

  test('the configured key of the server permits every request', async () => {
    expect(
      await call(`${server.url}/v1/agl/deletions/rollouts`, {
        key: 'the one key',
        method: 'POST',
        body: { rollout_ids: [] },
      }),
    ).toMatchObject({ status: 200 });
  });
});

describe('a key', () => {
  let store: SqlStore;
  let server: StoreServer;
  let clock: ManualClock;
  beforeEach(async () => {
    clock = new ManualClock();
    store = await openStore(':memory:', { clock });
    server = await createStoreServer({ store, port: 0, clock });
  });
  afterEach(async () => {
    await server.close();
    await store.close();
  });
  const statusOf = async (key?: string): Promise<number> =>
    (await call(`${server.url}/v1/agl/resources`, key === undefined ? {} : { key })).status;

  test('once created locks the server within five seconds, and revoking the last one does not unlock it', async () => {
    expect(await statusOf()).toBe(200);
    const { key, record } = await store.createAccessKey({ name: 'first', role: 'worker' });
    await clock.advance(5000);
    expect(await statusOf()).toBe(401);
    expect(await statusOf(key)).toBe(200);
    await store.revokeAccessKey(record.keyId);
    await clock.advance(5000);
    expect(await call(`${server.url}/v1/agl/resources`, { key })).toMatchObject({
      status: 401,
      text: expect.stringContaining('was revoked'),
    });
    expect(await statusOf()).toBe(401);
    const again = await createStoreServer({ store, port: 0, clock, host: '0.0.0.0' });
    expect((await call(`http://127.0.0.1:${again.port}/v1/agl/resources`)).status).toBe(401);
    await again.close();
  });

  test('can be the password of a URL, for clients without bearer authentication', async () => {
    const { key } = await store.createAccessKey({ name: 'python', role: 'worker' });
    await clock.advance(5000);
    const statusWith = async (authorization: string): Promise<number> =>
      (await fetch(`${server.url}/v1/agl/resources`, { headers: { authorization } })).status;
    expect(await statusWith(`Basic ${btoa(`agl:${key}`)}`)).toBe(200);
    expect(await statusWith(`basic ${btoa(`:${key}`)}`)).toBe(200);
    expect(await statusWith(`Basic ${btoa(`${key}:`)}`)).toBe(401);
    expect(await statusWith(`Basic ${btoa(key)}`)).toBe(401);
    expect(await statusWith(`Basic ${key}`)).toBe(401);
    expect(await statusWith(key)).toBe(401);
  });

  test('is rejected when it has expired, and with another secret', async () => {
    const { key } = await store.createAccessKey({ name: 'short', role: 'worker', lifetimeMs: 10_000 });
    await clock.advance(9999);
    expect(await statusOf(key)).toBe(200);
    expect(await statusOf(`${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`)).toBe(401);
    expect(await statusOf(key.toUpperCase())).toBe(401);
    await clock.advance(1);
    expect(await statusOf(key)).toBe(401);
  });
});

test('a revoked attempt token is rejected within five seconds, also one that was used before', async () => {
  const clock = new ManualClock();
  const tokens = new AttemptTokens({ secrets: ['s'.repeat(32)], clock });
  const store = await openStore(':memory:', { clock });
  const server = await createStoreServer({ store, port: 0, clock, apiKey: 'the one key', attemptTokens: tokens });
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const ids = { rolloutId, attemptId: attempt.attemptId };
  const [revoked, other] = [await tokens.create(ids), await tokens.create({ ...ids, mayReward: false })];
  const statusOf = async (key: string): Promise<number> =>
    (await call(`${server.url}/v1/agl/rollouts/${rolloutId}`, { key })).status;
  expect(await statusOf(revoked)).toBe(200);
  await new StoreClient({ baseUrl: server.url, apiKey: 'the one key' }).revokeAttemptToken(revoked);
  await clock.advance(5000);
  expect([await statusOf(revoked), await statusOf(other)]).toEqual([401, 200]);
  await server.close();
  await store.close();
});

describe('the token of an attempt', () => {
  let store: SqlStore;
  let server: StoreServer;
  let runner: string;
  let own: { readonly rolloutId: string; readonly attemptId: string };
  let other: { readonly rolloutId: string; readonly attemptId: string };
  let token: string;

  beforeEach(async () => {
    store = await openStore(':memory:');
    server = await createStoreServer({ store, port: 0, attemptTokens });
    runner = (await store.createAccessKey({ name: 'runner', role: 'worker' })).key;
    own = await started();
    other = await started();
    token = await tokenOf(own);
  });
  afterEach(async () => {
    await server.close();
    await store.close();
  });

  async function started(metadata: Record<string, string> = {}): Promise<typeof own> {
    const { rolloutId, attempt } = await store.startRollout({ input: 'task', metadata });
    return { rolloutId, attemptId: attempt.attemptId };
  }

  /** As a runner gets it. */
  async function tokenOf({ rolloutId, attemptId }: typeof own): Promise<string> {
    await using client = closing(new StoreClient({ baseUrl: server.url, apiKey: runner }));
    return client.store.createAttemptToken({ rolloutId, attemptId });
  }

  const post = (path: string, body: unknown, key = token): ReturnType<typeof call> =>
    call(`${server.url}${path}`, { method: 'POST', key, body });
  const get = (path: string, key = token): ReturnType<typeof call> => call(`${server.url}${path}`, { key });
  const wireSpan = (ids: typeof own, more: Parameters<typeof aSpan>[0] = {}): unknown =>
    spanInputCodec.encode({ ...aSpan({ ...ids, ...more }) });
  const reward = {
    name: 'agentlightning.annotation',
    attributes: { 'agentlightning.reward.0.name': 'primary', 'agentlightning.reward.0.value': 1 },
  };
  const spansOf = async ({ rolloutId }: typeof own): Promise<readonly string[]> =>
    (await store.querySpans({ rolloutId })).items.map(({ name }) => name);

  test('records spans of its attempt, singly and in batches, and reserves sequence ids', async () => {
    const ids = { rollout_id: own.rolloutId, attempt_id: own.attemptId };
    expect(await post('/v1/agl/spans', wireSpan(own, { spanId: '0000000000000001', name: 'one' }))).toMatchObject({
      status: 201,
    });
    expect(
      await post('/v1/agl/spans/batch', { spans: [wireSpan(own, { spanId: '0000000000000002', name: 'two' })] }),
    ).toMatchObject({ status: 201 });
    expect(await post('/v1/agl/spans/next', ids)).toMatchObject({ status: 200 });
    expect(await post('/v1/agl/spans/next/batch', { attempts: [ids] })).toMatchObject({ status: 200 });
    expect(await spansOf(own)).toEqual(['one', 'two']);
  });

  test('records no spans of other attempts: a batch with one of them is rejected', async () => {
    const foreign = [{ ...own, attemptId: other.attemptId }, { ...other, attemptId: own.attemptId }, other];
    for (const ids of foreign) {
      const spans = [wireSpan(own, { spanId: '0000000000000001' }), wireSpan(ids, { spanId: '0000000000000002' })];
      expect(await post('/v1/agl/spans/batch', { spans })).toMatchObject({
        status: 403,
        text: expect.stringContaining(own.attemptId),
      });
      expect((await post('/v1/agl/spans', spans[1])).status).toBe(403);
      const wire = { rollout_id: ids.rolloutId, attempt_id: ids.attemptId };
      expect((await post('/v1/agl/spans/next', wire)).status).toBe(403);
      expect((await post('/v1/agl/spans/next/batch', { attempts: [wire] })).status).toBe(403);
    }
    expect([...(await spansOf(own)), ...(await spansOf(other))]).toEqual([]);
  });

  test('reads only its rollout, latest attempt and resources', async () => {
    const old = await store.addResources({
      model: { resourceType: 'prompt_template', template: 'old', engine: 'f-string' },
    });
    const mine = await store.addResources({
      model: { resourceType: 'prompt_template', template: 'new', engine: 'f-string' },
    });
    const third = await started();
    const key = await tokenOf(third);
    expect((await get(`/v1/agl/rollouts/${third.rolloutId}`, key)).status).toBe(200);
    expect((await get(`/v1/agl/rollouts/${third.rolloutId}/attempts/latest`, key)).status).toBe(200);
    expect((await get(`/v1/agl/resources/${mine.resourcesId}`, key)).status).toBe(200);
    expect((await get(`/v1/agl/resources/${old.resourcesId}`, key)).status).toBe(403);
    expect((await get(`/v1/agl/rollouts/${own.rolloutId}`, key)).status).toBe(403);
    expect((await get(`/v1/agl/rollouts/${own.rolloutId}/attempts/latest`, key)).status).toBe(403);
  });

  test('records its reward when the agent is the source of rewards', async () => {
    expect((await post('/v1/agl/spans', wireSpan(own, reward))).status).toBe(201);
  });

  test('records no reward when an evaluator is the source of rewards, which can', async () => {
    const judged = await started({ [rewardSourceKey]: 'evaluator' });
    const step = wireSpan(judged, { spanId: '0000000000000009', name: 'step' });
    const key = await tokenOf(judged);
    // The token states it; a token that was created without regard to the rollout is restricted as well.
    const careless = await attemptTokens.create(judged);
    expect(await attemptTokens.verify(key)).toMatchObject({ mayReward: false });
    for (const used of [key, careless]) {
      const refused = await post('/v1/agl/spans/batch', { spans: [step, wireSpan(judged, reward)] }, used);
      expect(refused).toMatchObject({
        status: 403,
        text: expect.stringMatching(/PERMISSION_DENIED.*come from its evaluator/),
      });
    }
    expect(await spansOf(judged)).toEqual([]);
    expect((await post('/v1/agl/spans', step, key)).status).toBe(201);
    expect((await post('/v1/agl/spans', wireSpan(judged, reward), runner)).status).toBe(201);
  });

  test.each([
    ['token ids', { prompt_token_ids: [1, 2], response_token_ids: [3] }],
    ['a trainable call', { 'agentlightning.trainable': true }],
    ['log-probabilities', { 'agentlightning.response_logprobs': [-0.1] }],
    ['the log-probabilities of the Python readers', { 'logprobs.content': '[{"token":"a","logprob":-0.1}]' }],
    [
      'an event of the 1.0 protocol',
      { 'agentlightning.event.type': 'reward', 'agentlightning.event.data': '{"value":1}' },
    ],
  ])('records no model call that could be trained on: %s', async (_, attributes) => {
    const forged = wireSpan(own, { spanId: '0000000000000001', attributes });
    const step = wireSpan(own, { spanId: '0000000000000002', name: 'step' });
    const name = Object.keys(attributes)[0] ?? '';
    const refused = { status: 403, text: expect.stringContaining(`reserved attribute ${name}`) };
    expect(await post('/v1/agl/spans', forged)).toMatchObject(refused);
    expect(await post('/v1/agl/spans/batch', { spans: [step, forged] })).toMatchObject(refused);
    const otlp = {
      ...{ name: 'forged', spanId: '0000000000000003', traceId: '0'.repeat(31).concat('1') },
      attributes: [{ key: name, value: { boolValue: true } }],
    };
    expect(await post('/v1/traces', { resourceSpans: [{ scopeSpans: [{ spans: [otlp] }] }] })).toMatchObject(refused);
    expect(await spansOf(own)).toEqual([]);
    expect((await post('/v1/agl/spans', forged, runner)).status).toBe(201);
  });

  test('records no reward once its attempt has ended, and still records other spans', async () => {
    await store.updateAttempt(own.rolloutId, own.attemptId, { status: 'succeeded' });
    const step = wireSpan(own, { spanId: '0000000000000009', name: 'step' });
    expect(await post('/v1/agl/spans', wireSpan(own, reward))).toMatchObject({
      status: 409,
      text: expect.stringContaining(`attempt ${own.attemptId} is succeeded`),
    });
    expect((await post('/v1/agl/spans', step)).status).toBe(201);
    expect(await spansOf(own)).toEqual(['step']);
  });

  test('assigns OpenTelemetry spans without an attempt to its own, and rejects those of others', async () => {
    const otlp = (name: string, spanId: string, ids?: typeof own): unknown => ({
      name,
      spanId,
      traceId: '0'.repeat(31).concat('1'),
      attributes: Object.entries(ids ?? {}).map(([id, stringValue]) => ({
        key: id === 'rolloutId' ? 'agentlightning.rollout_id' : 'agentlightning.attempt_id',
        value: { stringValue },
      })),
    });
    const send = (...spans: unknown[]): ReturnType<typeof call> =>
      post('/v1/traces', { resourceSpans: [{ scopeSpans: [{ spans }] }] });
    expect(await send(otlp('mine', '0000000000000001'), otlp('theirs', '0000000000000002', other))).toMatchObject({
      status: 200,
      text: expect.stringMatching(/"rejectedSpans":"1".*not for attempt/),
    });
    expect((await send(otlp('theirs', '0000000000000003', other))).status).toBe(403);
    expect([await spansOf(own), await spansOf(other)]).toEqual([['mine'], []]);
  });

  test('is created for existing attempts, with a permitted key, by a server with a secret', async () => {
    await using client = closing(new StoreClient({ baseUrl: server.url, apiKey: runner }));
    await expect(client.store.createAttemptToken({ ...own, attemptId: 'at-none' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    const path = `/v1/agl/rollouts/${own.rolloutId}/attempts/${own.attemptId}/token`;
    expect((await post(path, {})).status).toBe(403);
    expect((await post(path, { lifetime_seconds: 31 * 86_400 }, runner)).status).toBe(422);
    const silent = await createStoreServer({ store, port: 0 });
    expect(await call(`${silent.url}${path}`, { method: 'POST', key: runner })).toMatchObject({
      status: 403,
      text: expect.stringContaining('AGL_TOKEN_SECRET'),
    });
    const unchecked = await call(`${silent.url}/v1/agl/rollouts/${own.rolloutId}`, { key: token });
    expect(unchecked).toMatchObject({ status: 401, text: expect.stringContaining('no secret to check it with') });
    await silent.close();
  });
});

describe('a forged request', () => {
  test('rejects malformed keys without internal errors', async () => {
    const store = await openStore(':memory:');
    const server = await createStoreServer({ store, port: 0, attemptTokens });
    const { key, record } = await store.createAccessKey({ name: 'true', role: 'admin' });
    const token = await attemptTokens.create({ rolloutId: 'ro-1', attemptId: 'at-1' });
    const visible = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) });
    const near = fc
      .tuple(fc.constantFrom(key, token, `aglk_${record.keyId}_`), fc.nat(), visible)
      .map(
        ([text, at, more]) => text.slice(0, at % text.length) + more + text.slice((at % text.length) + 1 + more.length),
      )
      .filter((text) => text !== key && text !== token);
    const authorization = fc.oneof(
      visible,
      fc
        .tuple(fc.constantFrom('Bearer', 'bearer', 'Basic', 'Bearer Bearer', ''), fc.oneof(visible, near))
        .map(([scheme, text]) => `${scheme} ${text}`),
    );
    const path = fc.oneof(fc.constantFrom(...storeRoutes.map(([, { path }]) => path)), fc.webPath());
    await fc.assert(
      fc.asyncProperty(
        authorization,
        path,
        fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'OPTIONS'),
        async (header, where, method) => {
          const response = await fetch(`${server.url}${where}`, { method, headers: { authorization: header } });
          const text = await response.text();
          expect(text).not.toMatch(/\n\s+at |node:|\.ts/);
          // Browsers ask whether they may send feedback, without a key.
          const isPreflight = method === 'OPTIONS' && where === '/v1/agl/feedback';
          if (where !== '/v1/agl/health' && !isPreflight) expect(response.status).toBe(401);
        },
      ),
      { numRuns: 500 },
    );
    await server.close();
    await store.close();
  }, 60_000);
});

function closing(store: StoreClient): AsyncDisposable & { readonly store: StoreClient } {
  return { store, [Symbol.asyncDispose]: () => store.close() };
}

test('a worker key writes the records of the runners that use it only', async () => {
  const store = await openStore(':memory:');
  const server = await createStoreServer({ store, port: 0, apiKey: 'the one key' });
  const clients = await Promise.all(
    (['worker', 'trainer', 'worker'] as const).map(async (role) => {
      const { key } = await store.createAccessKey({ name: role, role });
      return new StoreClient({ baseUrl: server.url, apiKey: key });
    }),
  );
  const [worker, trainer, other] = clients;
  await expect(worker?.updateWorker('trainer-run-1', { is_stop_requested: true })).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
  });
  expect(await store.getWorker('trainer-run-1')).toBeNull();
  expect(await worker?.updateWorker('worker-1', {})).toMatchObject({ workerId: 'worker-1' });
  expect(await trainer?.updateWorker('trainer-run-1', {})).toMatchObject({ workerId: 'trainer-run-1' });
  const load = { running: 0, concurrency: 1, processes: 1, memory_rss_bytes: 1, lease_ms: 60_000 };
  const runner = { kind: 'runner', version: '1', host: 'a', pid: 1, run_id: null, state: 'running', ...load };
  for (const id of ['runner-1', 'runner-1']) await worker?.updateWorker(id, runner);
  await trainer?.updateWorker('gateway-1', { kind: 'gateway' });
  const denied = [
    other?.updateWorker('runner-1', { ...runner, lease_ms: 0 }),
    worker?.updateWorker('gateway-1', {}),
    worker?.updateWorker('gateway-2', { kind: 'gateway' }),
  ];
  for (const each of denied) await expect(each).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  expect((await store.getWorker('runner-1'))?.heartbeatStats).toEqual(runner);
  await worker?.updateWorker('runner-1', { ...runner, lease_ms: 0 });
  expect(await other?.updateWorker('runner-1', runner)).toMatchObject({ workerId: 'runner-1' });
  await Promise.all(clients.map((client) => client.close()));
  await server.close();
  await store.close();
});
