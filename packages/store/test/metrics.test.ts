import { spanInputCodec } from '@agentlightning/core/protocol';
import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan } from '@agentlightning/core/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../src/index.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

let store: SqlStore;
let server: StoreServer;
let client: StoreClient;

beforeEach(async () => {
  store = await openStore(':memory:');
  server = await createStoreServer({ store, port: 0 });
  client = new StoreClient({ baseUrl: server.url });
});
afterEach(async () => {
  await client.close();
  await server.close();
  await store.close();
});

async function scrape(): Promise<string> {
  return (await fetch(`${server.url}/metrics`)).text();
}

/** The value of a sample, by its name with its labels as written. */
async function sampleOf(sample: string): Promise<number | null> {
  const line = (await scrape()).split('\n').find((each) => each.startsWith(`${sample} `));
  return line === undefined ? null : Number(line.slice(sample.length + 1));
}

test('metrics have the Prometheus format, without ids of rollouts', async () => {
  const { rolloutId } = await client.startRollout({ input: 1 });
  await client.getRollout(rolloutId);
  await fetch(`${server.url}/no/such/${rolloutId}`);
  const response = await fetch(`${server.url}/metrics`);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await response.text();
  expect(text).not.toContain(rolloutId);
  const types = new Map<string, string>();
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary)$/.exec(line);
    if (type !== null) types.set(type[1] ?? '', type[2] ?? '');
    if (line.startsWith('#')) {
      expect(line).toMatch(/^# (TYPE \S+ \w+|HELP [a-zA-Z_:][\w:]* .+)$/);
      continue;
    }
    const sample =
      /^([a-zA-Z_:][\w:]*)(\{([a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*\})? (Na[Nn]|[+-]Inf|[+-]?[\d.]+(e[+-]?\d+)?)$/.exec(
        line,
      );
    expect(sample, line).not.toBeNull();
    const name = sample?.[1] ?? '';
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
    expect(types.has(family), `${line} has a type`).toBe(true);
  }
  expect(types.get('process_cpu_seconds_total')).toBe('counter');
  expect(types.get('agl_store_request_duration_seconds')).toBe('histogram');
});

test('requests are counted by route, method and status, unknown routes as none', async () => {
  await client.startRollout({ rolloutId: 'ro-1', input: 1 });
  await client.getRollout('ro-1');
  await client.getRollout('ro-1');
  await expect(client.getRollout('ro-2')).rejects.toThrow();
  await fetch(`${server.url}/no/such`);
  const count = (labels: string): Promise<number | null> =>
    sampleOf(`agl_store_request_duration_seconds_count{${labels}}`);
  // The counts change right after the response.
  await vi.waitFor(async () => {
    expect(await count('method="GET",route="/v1/agl/rollouts/:rolloutId",status="200"')).toBe(2);
    expect(await count('method="GET",route="/v1/agl/rollouts/:rolloutId",status="404"')).toBe(1);
    expect(await count('method="POST",route="/v1/agl/rollouts",status="201"')).toBe(1);
    expect(await count('method="GET",route="none",status="404"')).toBe(1);
  }, 10_000);
});

test('rollouts are counted by status, claims and spans in total', async () => {
  await client.enqueueRollouts([{ input: 1 }, { input: 2 }, { input: 3 }]);
  const [claimed] = await client.claimRollouts({ workerId: 'w' });
  const ids = { rolloutId: claimed?.rolloutId ?? '', attemptId: claimed?.attempt.attemptId ?? '' };
  expect(await sampleOf('agl_store_rollouts{status="queuing"}')).toBe(2);
  expect(await sampleOf('agl_store_rollouts{status="preparing"}')).toBe(1);
  expect(await sampleOf('agl_store_rollouts{status="running"}')).toBe(0);
  expect(await sampleOf('agl_store_rollouts{status="succeeded"}')).toBeNull();
  expect(await sampleOf('agl_store_enqueued_total')).toBe(3);
  expect(await sampleOf('agl_store_claims_total')).toBe(1);
  const body = JSON.stringify({ spans: [spanInputCodec.encode(aSpan(ids)), spanInputCodec.encode(aSpan(ids))] });
  const headers = { 'content-type': 'application/json' };
  await fetch(`${server.url}/v1/agl/spans/batch`, { method: 'POST', headers, body });
  // Once more: the spans are there, and are not counted again.
  await fetch(`${server.url}/v1/agl/spans/batch`, { method: 'POST', headers, body });
  expect(await sampleOf('agl_store_spans_total{format="json"}')).toBe(2);
  expect(await sampleOf('agl_store_span_bytes_total{format="json"}')).toBe(2 * Buffer.byteLength(body));
});

test('open waits are counted separately from other requests', async () => {
  const { rolloutId } = await client.startRollout({ input: 1 });
  const stop = new AbortController();
  const waiting = client.claimRollouts({ workerId: 'w', waitMs: 60_000 });
  const events = await fetch(`${server.url}/v1/agl/events`, { signal: stop.signal });
  const wait = fetch(`${server.url}/v1/agl/waits/rollouts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ rollout_ids: [rolloutId], timeout: 60 }),
  });
  await vi.waitFor(async () => {
    for (const kind of ['claim', 'events', 'rollouts'])
      expect(await sampleOf(`agl_store_waits{kind="${kind}"}`)).toBe(1);
  }, 20_000);
  stop.abort();
  await events.text().catch(() => undefined);
  await store.enqueueRollouts([{ input: 2 }]);
  await store.updateRollout(rolloutId, { status: 'cancelled' });
  await Promise.all([waiting, wait]);
  await vi.waitFor(async () => {
    for (const kind of ['claim', 'events', 'rollouts'])
      expect(await sampleOf(`agl_store_waits{kind="${kind}"}`)).toBe(0);
    const route = 'method="POST",route="/v1/agl/waits/rollouts",status="200"';
    expect(await sampleOf(`agl_store_wait_duration_seconds_count{${route}}`)).toBe(1);
    expect(await sampleOf(`agl_store_request_duration_seconds_count{${route}}`)).toBeNull();
  }, 20_000);
});

describePostgres('on PostgreSQL', () => {
  test('rollouts are counted by status too', async () => {
    await using database = await createTestDatabase();
    const large = await openStore(database.url);
    await large.enqueueRollouts([{ input: 1 }, { input: 2 }]);
    await large.claimRollouts();
    expect([...(await large.countUnfinished())]).toEqual([
      ['queuing', 1],
      ['preparing', 1],
      ['running', 0],
      ['requeuing', 0],
    ]);
    await large.close();
  });
});
