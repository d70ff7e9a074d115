import { spanInputCodec } from '@agentlightning/core/protocol';
import { aSpan } from '@agentlightning/core/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../src/index.ts';
import { storeRoutes } from '../src/server/route-handler.ts';

let store: SqlStore;
let server: StoreServer;
let ids: { readonly rolloutId: string; readonly attemptId: string };

beforeAll(async () => {
  store = await openStore(':memory:');
  server = await createStoreServer({ store, port: 0 });
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  ids = { rolloutId, attemptId: attempt.attemptId };
  await store.createRun({ runId: 'run-1', name: 'one', config: {} });
  await store.enqueueRollouts([{ input: 'first' }, { input: 'second' }]);
  await finishedRun('run-3');
  await finishedRun('run-4');
});

afterAll(async () => {
  await server.close();
  await store.close();
});

/** A run that is over, with more rollouts than one transaction deletes. */
async function finishedRun(runId: string): Promise<void> {
  await store.createRun({ runId, name: runId, config: {} });
  const rollouts = await store.enqueueRollouts(Array.from({ length: 60 }, (_, input) => ({ runId, input })));
  for (const { rolloutId } of rollouts) await store.updateRollout(rolloutId, { status: 'cancelled' });
  await store.updateRun(runId, { status: 'finished' });
}

interface ReceivedResponse {
  readonly status: number;
  readonly body: unknown;
}

async function post(path: string, body: unknown, key: string): Promise<ReceivedResponse> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

/** All that the store holds, and how far its counters are. */
async function contents(): Promise<unknown> {
  const { uptimeMs: _, ...counts } = await store.statistics();
  const [next] = await store.nextSpanSequenceIds([ids]);
  const { items: resources } = await store.queryResources();
  const { items: rollouts } = await store.queryRollouts();
  return { counts, resources, rollouts, numbered: (next ?? 0) - (await lookedAt()) };
}

let looks = 0;
/** Looking at the counter moves it by one, which does not count. */
async function lookedAt(): Promise<number> {
  looks += 1;
  return looks;
}

const span = (n: number): object =>
  spanInputCodec.encode(
    aSpan({ rolloutId: ids.rolloutId, attemptId: ids.attemptId, spanId: `${n}`.repeat(16), sequenceId: 1 }),
  );
const traceSpan = (): object =>
  spanInputCodec.encode(aSpan({ rolloutId: 'trace-1', attemptId: 'at-1', spanId: '7'.repeat(16), sequenceId: 1 }));
const attempt = (): object => ({ rollout_id: ids.rolloutId, attempt_id: ids.attemptId });

/** A request for each route that takes a key. */
const requests: Readonly<Record<string, () => unknown>> = {
  '/v1/agl/queues/rollouts/enqueue': () => ({ rollouts: [{ input: 'new' }] }),
  '/v1/agl/queues/rollouts/dequeue': () => ({ limit: 1 }),
  '/v1/agl/rollouts': () => ({ input: 'new' }),
  '/v1/agl/rollouts/:rolloutId': () => ({ metadata: { a: 1 } }),
  '/v1/agl/rollouts/:rolloutId/attempts': () => ({}),
  '/v1/agl/rollouts/:rolloutId/attempts/:attemptId': () => ({ metadata: { a: 1 } }),
  '/v1/agl/resources': () => ({}),
  '/v1/agl/resources/:resourcesId': () => ({}),
  '/v1/agl/spans': () => span(1),
  '/v1/agl/spans/batch': () => ({ spans: [span(2), span(3)] }),
  '/v1/agl/deployments/:deployment/traces': () => ({ spans: [traceSpan()] }),
  '/v1/agl/feedback': () => ({ rollout_id: 'trace-1', score: 1 }),
  '/v1/agl/spans/next': attempt,
  '/v1/agl/spans/next/batch': () => ({ attempts: [attempt(), attempt()] }),
  '/v1/agl/runs': () => ({ run_id: 'run-2', name: 'two', config: {} }),
  '/v1/agl/runs/:runId': () => ({ status: 'finished' }),
  '/v1/agl/deletions/rollouts': () => ({ rollout_ids: [] }),
  '/v1/agl/deletions/runs': () => ({ run_id: 'run-3' }),
  '/v1/agl/deletions/retention': () => ({ keep_runs: 0 }),
};

/** In the order of the requests: a retention policy deletes runs. */
const order = Object.keys(requests);
const routes = storeRoutes
  .map(([, route]) => route)
  .filter(({ idempotency }) => idempotency !== undefined)
  .sort((left, right) => order.indexOf(left.path) - order.indexOf(right.path));

describe('a retried request with its key has one effect and one response', () => {
  test.each(routes)('POST $path', async ({ path }) => {
    const request = requests[path];
    if (request === undefined) throw new TypeError(`there is no request for ${path}`);
    const named: Readonly<Record<string, string>> = {
      ...ids,
      deployment: 'support',
      resourcesId: 'rs-1',
      runId: 'run-1',
    };
    const address = path.replace(/:(\w+)/g, (_, name: string) => named[name] ?? '');
    const body = request();
    const first = await post(address, body, `once ${path}`);
    expect(first.status).toBeLessThan(300);
    const after = await contents();
    expect(await post(address, body, `once ${path}`)).toEqual(first);
    expect(await contents()).toEqual(after);
    const other = await post('/v1/agl/queues/rollouts/enqueue', { rollouts: [] }, `once ${path}`);
    expect(other).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT', remedy: expect.any(String) } } });
  });
});

test('concurrent attempts of one request have one effect', async () => {
  const tries = Array.from({ length: 20 }, () => post('/v1/agl/rollouts', { input: 'at once' }, 'at once'));
  const responses = await Promise.all(tries);
  expect(new Set(responses.map(({ body }) => JSON.stringify(body))).size).toBe(1);
});

test('every POST supports a key, or has the same effect when it is repeated', () => {
  const repeatable = [
    '/search',
    '/searches/',
    '/waits/',
    // A heartbeat says how it is now; spans are known by their ids; a run is there already.
    '/workers/',
    '/v1/traces',
    '/preview',
    '/archives/runs',
    // Tokens are kept nowhere: another one changes nothing.
    '/token',
    // Not recorded.
    '/v1/metrics',
    '/v1/logs',
    '/v1/development/profiles',
  ];
  const others = storeRoutes.filter(
    ([, { method, idempotency, path }]) =>
      method === 'POST' && idempotency === undefined && !repeatable.some((part) => path.includes(part)),
  );
  expect(others.map(([, { path }]) => path)).toEqual([]);
});

test('a retried batched deletion returns the total, also concurrently', async () => {
  await finishedRun('run-5');
  const tries = await Promise.all(
    Array.from({ length: 5 }, () => post('/v1/agl/deletions/runs', { run_id: 'run-5' }, 'delete run-5')),
  );
  expect(new Set(tries.map((response) => JSON.stringify(response))).size).toBe(1);
  expect(tries[0]).toMatchObject({ status: 200, body: { runs: 1 } });
  expect(await post('/v1/agl/deletions/runs', { run_id: 'run-5' }, 'another key')).toMatchObject({ status: 404 });
});
