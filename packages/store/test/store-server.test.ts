import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ManualClock } from '@agentlightning/core/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../src/index.ts';

let store: SqlStore;
let server: StoreServer;
let faults: unknown[];

beforeAll(async () => {
  faults = [];
  store = await openStore(':memory:');
  server = await createStoreServer({ store, port: 0, maxBodyBytes: 10_000, onFault: (error) => faults.push(error) });
});

afterAll(async () => {
  await server.close();
  await store.close();
});

interface ReceivedResponse {
  readonly status: number;
  readonly body: unknown;
}

async function call(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ReceivedResponse> {
  const response = await fetch(`${server.url}/v1/agl${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

async function enqueue(input: unknown = 1): Promise<string> {
  const { body } = await call('/queues/rollouts/enqueue', { rollouts: [{ input }] });
  return (body as { rollout_id: string }[])[0]?.rollout_id ?? '';
}

describe('wire formats', () => {
  test('a rollout has snake_case names and times in seconds', async () => {
    const request = {
      input: { a_b: 1 },
      mode: 'val',
      config: { timeout_seconds: 1.5, max_attempts: 2 },
      metadata: null,
    };
    const { status, body } = await call('/queues/rollouts/enqueue', { rollouts: [request] });
    expect(status).toBe(201);
    expect(body).toEqual([
      {
        rollout_id: expect.stringMatching(/^ro-/),
        input: { a_b: 1 },
        status: 'queuing',
        mode: 'val',
        resources_id: null,
        run_id: null,
        config: { timeout_seconds: 1.5, unresponsive_seconds: null, max_attempts: 2, retry_condition: [] },
        metadata: null,
        start_time: expect.any(Number),
        end_time: null,
      },
    ]);
    expect((body as { start_time: number }[])[0]?.start_time).toBeCloseTo(Date.now() / 1000, -1);
    expect(await call('/queues/rollouts/dequeue', { worker_id: 'w' })).toMatchObject({
      status: 200,
      body: [{ status: 'preparing', attempt: { sequence_id: 1, worker_id: 'w', last_heartbeat_time: null } }],
    });
  });

  test('a claim needs no body, and a limit of 0 or less claims nothing', async () => {
    const rolloutId = await enqueue();
    expect(await call('/queues/rollouts/dequeue', { limit: 0 })).toEqual({ status: 200, body: [] });
    const response = await fetch(`${server.url}/v1/agl/queues/rollouts/dequeue`, { method: 'POST' });
    expect(await response.json()).toMatchObject([{ rollout_id: rolloutId }]);
  });

  test('a span has the context, parent and status of OpenTelemetry', async () => {
    const { body } = await call('/rollouts', { input: 1 });
    const { rollout_id, attempt } = body as { rollout_id: string; attempt: { attempt_id: string } };
    const span = {
      rollout_id,
      attempt_id: attempt.attempt_id,
      sequence_id: 5,
      trace_id: 'a'.repeat(32),
      span_id: 'b'.repeat(16),
      parent_id: 'c'.repeat(16),
      name: 'step',
      status: { status_code: 'ERROR', description: 'broke' },
      attributes: { x: [1, 2] },
      events: [{ name: 'e', attributes: {}, timestamp: 1_700_000_000.5 }],
      links: [],
      start_time: 1_700_000_000_500_000_000,
      end_time: null,
      context: { trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16), is_remote: false, trace_state: {} },
      parent: { trace_id: 'a'.repeat(32), span_id: 'c'.repeat(16), is_remote: false, trace_state: {} },
      resource: { attributes: {}, schema_url: '' },
    };
    const recorded = await call('/spans', { ...span, of_another_version: true });
    expect(recorded).toEqual({ status: 201, body: { ...span, start_time: 1_700_000_000.5, of_another_version: true } });
    expect(await call('/spans', span)).toEqual({ status: 201, body: null });
    expect(await call(`/spans?rollout_id=${rollout_id}&attempt_id=latest&limit=1`)).toMatchObject({
      body: { total: 1, items: [{ sequence_id: 5 }] },
    });
    expect(await call('/spans/next', { rollout_id, attempt_id: attempt.attempt_id })).toEqual({
      status: 200,
      body: { sequence_id: 6 },
    });
  });

  test('lists accept filters as URL parameters or as a body', async () => {
    const first = await enqueue();
    const second = await enqueue();
    const parameters = `rollout_id_in=${first}&rollout_id_in=${second}&status_in=queuing&sort_by=start_time&sort_order=desc&limit=1`;
    const expected = { items: [{ rollout_id: second }], limit: 1, offset: 0, total: 2 };
    expect((await call(`/rollouts?${parameters}`)).body).toMatchObject(expected);
    const body = {
      rollout_id_in: [first, second],
      status_in: ['queuing'],
      sort_by: 'start_time',
      sort_order: 'desc',
      limit: 1,
    };
    expect((await call('/rollouts/search', body)).body).toMatchObject(expected);
    expect((await call('/rollouts/search', { status_in: [] })).body).toMatchObject({ items: [] });
    await store.updateRollout(first, { status: 'cancelled' });
    await store.updateRollout(second, { status: 'cancelled' });
  });

  test('missing records are null where the protocol requires it', async () => {
    const rolloutId = await enqueue();
    expect(await call(`/rollouts/${rolloutId}/attempts/latest`)).toEqual({ status: 200, body: null });
    expect(await call('/workers/unknown')).toEqual({ status: 200, body: null });
    expect(await call('/resources/latest')).toEqual({ status: 200, body: null });
    expect(await call('/resources/rs-unknown')).toEqual({ status: 200, body: null });
    expect(await call('/health')).toEqual({ status: 200, body: { status: 'ok' } });
  });

  test('a wait omits unknown rollouts', async () => {
    const { body } = await call('/rollouts', { input: 1 });
    const { rollout_id } = body as { rollout_id: string };
    await call(`/rollouts/${rollout_id}/attempts/latest`, { status: 'succeeded' });
    const wait = { rollout_ids: ['ro-unknown', rollout_id], timeout: 0 };
    expect((await call('/waits/rollouts', wait)).body).toMatchObject([{ rollout_id, status: 'succeeded' }]);
    expect(await call('/waits/rollouts', { ...wait, is_strict: true })).toMatchObject({ status: 404 });
  });
});

describe('bad input', () => {
  const cases: [what: string, status: number, code: string, respond: () => Promise<ReceivedResponse>][] = [
    ['an unknown rollout', 404, 'NOT_FOUND', () => call('/rollouts/ro-unknown')],
    ['an unknown rollout to change', 404, 'NOT_FOUND', () => call('/rollouts/ro-unknown', { mode: 'val' })],
    ['an unknown route', 404, 'NOT_FOUND', () => call('/nonsense')],
    ['a route that has another verb', 405, 'NOT_FOUND', () => call('/health', {})],
    ['a body that is not JSON', 422, 'VALIDATION', () => call('/rollouts', '{"input": ')],
    [
      'a body of another type',
      422,
      'VALIDATION',
      () => call('/rollouts', { input: 1 }, { 'content-type': 'text/plain' }),
    ],
    ['a missing field', 422, 'VALIDATION', () => call('/rollouts', {})],
    ['a wrong type', 422, 'VALIDATION', () => call('/queues/rollouts/enqueue', { rollouts: 'all' })],
    ['a status there is not', 422, 'VALIDATION', () => call('/rollouts?status_in=sleeping')],
    ['a limit that is not a number', 422, 'VALIDATION', () => call('/rollouts?limit=many')],
    ['a limit of 0', 400, 'VALIDATION', () => call('/rollouts?limit=0')],
    ['a negative limit', 400, 'VALIDATION', () => call('/spans/search', { rollout_id: 'x', limit: -5 })],
    ['a negative offset', 400, 'VALIDATION', () => call('/workers?offset=-1')],
    ['an unknown sort field', 400, 'VALIDATION', () => call('/rollouts?sort_by=input')],
    ['a sort field of every object', 400, 'VALIDATION', () => call('/rollouts?sort_by=constructor')],
    ['an unknown sort order', 422, 'VALIDATION', () => call('/rollouts?sort_order=sideways')],
    ['null for a status', 400, 'VALIDATION', () => call('/rollouts/ro-unknown', { status: null })],
    ['null for heartbeat statistics', 400, 'VALIDATION', () => call('/workers/w', { heartbeat_stats: null })],
    [
      'an empty idempotency key',
      400,
      'VALIDATION',
      () => call('/resources', {}, { 'idempotency-key': 'k'.repeat(300) }),
    ],
    ['a body that is too large', 413, 'PAYLOAD_TOO_LARGE', () => call('/rollouts', { input: 'x'.repeat(10_001) })],
    ['another host', 403, 'PERMISSION_DENIED', () => callAsHost('evil.example')],
  ];
  for (const [what, status, code, respond] of cases) {
    test(`${what} gets ${status} ${code} and what to do`, async () => {
      expect(await respond()).toEqual({
        status,
        body: {
          error: {
            code,
            message: expect.any(String),
            remedy: expect.stringMatching(/\w+/),
            details: expect.any(Object),
          },
          detail: expect.any(String),
        },
      });
    });
  }

  test('stores nothing', async () => {
    const { total } = await store.queryRollouts();
    for (const [, , , respond] of cases) await respond();
    expect((await store.queryRollouts()).total).toBe(total);
    expect(faults).toEqual([]);
  });

  test('names the field and the allowed values', async () => {
    expect((await call('/rollouts?sort_by=input')).body).toMatchObject({
      detail: expect.stringContaining('Invalid sort_by: input, allowed fields are: start_time'),
    });
    expect(
      (await call('/queues/rollouts/enqueue', { rollouts: [{ input: 1 }, { input: 2, mode: 'dream' }] })).body,
    ).toMatchObject({
      error: { details: { issues: [{ path: 'rollouts[1].mode' }] } },
    });
  });

  test('receives internal errors without details', async () => {
    const broken = await openStore(':memory:');
    const secrets: unknown[] = [];
    const fragile = await createStoreServer({ store: broken, port: 0, onFault: (error) => secrets.push(error) });
    broken.statistics = () => Promise.reject(new RangeError('the password is 1234'));
    const response = await fetch(`${fragile.url}/v1/agl/statistics`);
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(text).not.toContain('1234');
    expect(text).not.toContain('at ');
    expect(secrets).toHaveLength(1);
    await fragile.close();
    await broken.close();
  });
});

describe('access', () => {
  test('requires the key', async () => {
    const locked = await createStoreServer({ store, port: 0, apiKey: 'right' });
    const url = `${locked.url}/v1/agl/statistics`;
    const statusWith = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(url, { headers })).status;
    expect(await statusWith({})).toBe(401);
    expect(await statusWith({ authorization: 'Bearer wrong' })).toBe(401);
    expect(await statusWith({ authorization: 'Basic right' })).toBe(401);
    expect(await statusWith({ authorization: 'Bearer right' })).toBe(200);
    expect((await fetch(`${locked.url}/v1/agl/health`)).status).toBe(200);
    await locked.close();
  });

  test('rejects foreign web pages in a local browser without a key', async () => {
    const statusOf = async (origin: string): Promise<number> => {
      const url = `${server.url}/v1/agl/queues/rollouts/dequeue`;
      return (await fetch(url, { method: 'POST', headers: { origin } })).status;
    };
    expect(await statusOf('https://example.com')).toBe(403);
    expect(await statusOf('null')).toBe(403);
    expect(await statusOf('http://localhost.example.com')).toBe(403);
    expect(await statusOf('http://localhost:5173')).toBe(200);
    expect(await statusOf('http://[::1]:5173')).toBe(200);
  });

  test('rejects a remote address without a key', async () => {
    await expect(createStoreServer({ store, port: 0, host: '0.0.0.0' })).rejects.toMatchObject({ code: 'CONFIG' });
    await expect(createStoreServer({ store, port: 0, apiKey: '' })).rejects.toMatchObject({ code: 'CONFIG' });
    const open = await createStoreServer({ store, port: 0, host: '0.0.0.0', apiKey: 'twelve-chars' });
    await open.close();
  });

  test('fails when the port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    await expect(createStoreServer({ store, port })).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: expect.stringContaining(String(port)),
    });
    other.close();
  });
});

describe('a repeated request', () => {
  test('has one effect and the same response with a key', async () => {
    const key = { 'idempotency-key': 'start-1' };
    const first = await call('/rollouts', { input: 'once' }, key);
    expect(await call('/rollouts', { input: 'once' }, key)).toEqual(first);
    const { rollout_id } = first.body as { rollout_id: string };
    const path = `/rollouts/${rollout_id}/attempts`;
    const second = await call(path, {}, { 'idempotency-key': 'attempt-1' });
    expect(await call(path, {}, { 'idempotency-key': 'attempt-1' })).toEqual(second);
    expect((await store.queryAttempts(rollout_id)).total).toBe(2);
  });

  test('is rejected when its key was used for another request', async () => {
    const key = { 'idempotency-key': 'resources-1' };
    await call('/resources', {}, key);
    expect(await call('/rollouts', { input: 1 }, key)).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT' } },
    });
  });

  test('can succeed after a failure', async () => {
    const key = { 'idempotency-key': 'retry-1' };
    const body = { run_id: 'run-late', name: 'x', config: {} };
    const request = { input: 1, run_id: 'run-late' };
    expect((await call('/rollouts', request, key)).status).toBe(404);
    await call('/runs', body);
    expect((await call('/rollouts', request, key)).status).toBe(201);
  });

  test('claims the same rollout again, and waits when none was claimed', async () => {
    await drain();
    const key = { 'idempotency-key': 'claim-1' };
    expect((await call('/queues/rollouts/dequeue', { limit: 1 }, key)).body).toEqual([]);
    const rolloutId = await enqueue();
    const other = await enqueue();
    const first = await call('/queues/rollouts/dequeue', { limit: 1 }, key);
    expect(first.body).toMatchObject([{ rollout_id: rolloutId, attempt: { sequence_id: 1 } }]);
    expect(await call('/queues/rollouts/dequeue', { limit: 1 }, key)).toEqual(first);
    expect((await store.getRollout(other)).status).toBe('queuing');
  });
});

describe('closing', () => {
  test('ends waits at once and leaves the store open', async () => {
    const clock = new ManualClock();
    const quiet = await openStore(':memory:', { clock });
    const closing = await createStoreServer({ store: quiet, port: 0 });
    const wait = fetch(`${closing.url}/v1/agl/queues/rollouts/dequeue`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ wait_seconds: 600 }),
    });
    await clock.waitForSleepers(1);
    await closing.close();
    expect(await (await wait).json()).toEqual([]);
    await expect(fetch(`${closing.url}/v1/agl/health`)).rejects.toThrow();
    expect(await quiet.statistics()).toMatchObject({ name: 'sqlite' });
    await quiet.close();
  });
});

async function drain(): Promise<void> {
  while ((await store.claimRollouts({ limit: 100 })).length > 0);
}

/** Calls as a web page would whose own name was made to lead to this machine. */
async function callAsHost(host: string): Promise<ReceivedResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}/v1/agl/statistics`, { headers: { host } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
    sent.on('error', reject).end();
  });
}

test('a client without the strict header gets the semantics of the 0.3 protocol, also with an idempotency key', async () => {
  const strict = { 'x-agentlightning-strict': '1' };
  const once = { 'idempotency-key': 'lenient-1' };
  const rollouts = { rollouts: [{ input: 1, resources_id: 'rs-none' }] };
  expect(await call('/queues/rollouts/enqueue', rollouts, strict)).toMatchObject({ status: 404 });
  expect(await call('/queues/rollouts/enqueue', rollouts, once)).toMatchObject({ status: 201 });
  const { body } = await call('/rollouts', { input: 1 });
  const { rollout_id } = body as { readonly rollout_id: string };
  await store.updateAttempt(rollout_id, 'latest', { status: 'succeeded' });
  expect(await call(`/rollouts/${rollout_id}/attempts`, {}, strict)).toMatchObject({ status: 409 });
  expect(await call(`/rollouts/${rollout_id}/attempts`, {})).toMatchObject({ status: 201 });
  const unknown = { rollout_id, attempt_id: 'at-none' };
  expect(await call('/spans/next', unknown, strict)).toMatchObject({ status: 404 });
  expect(await call('/spans/next', unknown)).toMatchObject({ status: 200, body: { sequence_id: 1 } });
});

test('a run with a rollout of unknown resources can be exported and imported', async () => {
  await store.createRun({ runId: 'run-lenient', name: 'run', config: {} });
  await call('/rollouts', { input: 1, run_id: 'run-lenient', resources_id: 'rs-none' });
  const archive: Uint8Array[] = [];
  for await (const piece of store.exportRun('run-lenient')) archive.push(piece);
  await store.deleteRun('run-lenient', { force: true });
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield* archive;
  }
  expect(await store.importRun(pieces())).toMatchObject({ runId: 'run-lenient' });
});

test('a sequence id of 0 is kept, and an empty worker id clears that of an attempt', async () => {
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  await store.updateAttempt(rolloutId, attempt.attemptId, { workerId: 'worker-1' });
  const ids = { rollout_id: rolloutId, attempt_id: attempt.attemptId };
  const span = {
    ...ids,
    sequence_id: 0,
    trace_id: 'a'.repeat(32),
    span_id: 'b'.repeat(16),
    name: 'step',
    status: { status_code: 'OK' },
    attributes: {},
    events: [],
    links: [],
  };
  expect(await call('/spans', span)).toMatchObject({ status: 201, body: { sequence_id: 0 } });
  expect((await store.querySpans({ rolloutId })).items).toMatchObject([{ sequenceId: 0 }]);
  const path = `/rollouts/${rolloutId}/attempts/${attempt.attemptId}`;
  expect((await call(path, { worker_id: '' })).body).toMatchObject({ worker_id: null });
});

test('an input with an integer that agents would receive as another one is refused by its name', async () => {
  const refused = await call('/queues/rollouts/enqueue', '{"rollouts":[{"input":{"tweet":2512292042121000001}}]}');
  expect(refused.status).toBe(422);
  expect(JSON.stringify(refused.body)).toContain('2512292042121000001');
  expect((await call('/queues/rollouts/enqueue', '{"rollouts":[{"input":1e400}]}')).status).toBe(422);
  expect((await call('/queues/rollouts/enqueue', '{"rollouts":[{"input":"2512292042121000001"}]}')).status).toBe(201);
});
