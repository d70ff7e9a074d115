import { gzipSync } from 'node:zlib';
import { AttemptTokens } from '@agentlightning/core/protocol';
import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan } from '@agentlightning/core/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../src/index.ts';
import { BodyBudget } from '../src/server/limits/body-budget.ts';

let store: SqlStore;
let server: StoreServer;
let ids: { readonly rollout_id: string; readonly attempt_id: string };
let authorization: string;

beforeEach(async () => {
  store = await openStore(':memory:');
  const attemptTokens = new AttemptTokens({ secrets: ['a secret of the test, long enough'] });
  server = await createStoreServer({ store, port: 0, apiKey: 'admin', attemptTokens });
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  ids = { rollout_id: rolloutId, attempt_id: attempt.attemptId };
  const token = await attemptTokens.create({ project: 'default', rolloutId, attemptId: attempt.attemptId });
  authorization = `Bearer ${token}`;
});
afterEach(async () => {
  await server.close();
  await store.close();
});

function post(
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Response> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', authorization, ...headers } };
  return fetch(`${server.url}${path}`, { ...init, body });
}

const protobuf = { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' };

/** A length-delimited field of a protocol buffer. */
function field(number: number, content: Uint8Array): Buffer {
  const length: number[] = [];
  for (let rest = content.length; ; rest >>>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content]);
}

function span(more: object = {}): object {
  const named = { ...ids, trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16), name: 'step' };
  return { ...named, status: { status_code: 'OK' }, attributes: {}, events: [], links: [], ...more };
}

describe('a request of an agent is rejected at its first bound', () => {
  test.each([
    ['values', () => `{"spans":[${'0,'.repeat(8_000_000)}0]}`, 'more than 500000 JSON values'],
    ['objects', () => `{"spans":[${'{},'.repeat(200_000)}{}]}`, 'more than 100000 JSON objects and arrays'],
    ['depth', () => `{"spans":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, 'more than 200 levels of nested JSON'],
    ['spans', () => JSON.stringify({ spans: Array(1001).fill(span()) }), 'more than 1000 items in spans'],
  ])('the number of its %s', async (_, body, message) => {
    const response = await post('/v1/agl/spans/batch', body());
    expect(response.status).toBe(413);
    expect(await response.text()).toContain(message);
  });

  test('the first invalid item of a long list', async () => {
    const response = await post(
      '/v1/agl/spans/batch',
      JSON.stringify({ spans: [span({ events: Array(400_000).fill(0) })] }),
    );
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ error: { details: { issues: [{ path: 'spans[0].events[0]' }] } } });
  });

  test('all invalid fields of a short list', async () => {
    const response = await post('/v1/agl/spans/batch', JSON.stringify({ spans: [0, span({ name: 1 })] }));
    expect(await response.json()).toMatchObject({
      error: { details: { issues: [{ path: 'spans[0]' }, { path: 'spans[1].name' }] } },
    });
  });

  test('the number of messages of a small gzip', async () => {
    const emptySpans = Buffer.alloc(30_000_000, Buffer.from([0x12, 0]));
    const bomb = gzipSync(field(1, field(2, emptySpans)));
    expect(bomb.length).toBeLessThan(40_000);
    const response = await post('/v1/traces', Uint8Array.from(bomb), protobuf);
    expect(response.status).toBe(413);
    expect(await response.text()).toContain('more than 100000 messages');
  });

  test('the depth of nested values', async () => {
    let value: Buffer = Buffer.alloc(0);
    for (let depth = 0; depth < 150; depth += 1) value = field(5, field(1, value));
    const attribute = field(9, field(2, value));
    const response = await post(
      '/v1/traces',
      Uint8Array.from(gzipSync(field(1, field(2, field(2, attribute))))),
      protobuf,
    );
    expect(await response.text()).toContain('more than 200 levels of nested messages');
  });

  test('the number of values of OTLP as JSON', async () => {
    const response = await post('/v1/traces', `{"resourceSpans":[${'{},'.repeat(200_000)}{}]}`);
    expect(response.status).toBe(413);
  });
});

test('a client enqueues any number of rollouts in several requests', async () => {
  const client = new StoreClient({ baseUrl: server.url, apiKey: 'admin' });
  const inputs = Array.from({ length: 1001 }, (_, index) => ({ input: index }));
  expect((await client.enqueueRollouts(inputs)).map(({ input }) => input)).toEqual(inputs.map(({ input }) => input));
  await client.close();
});

test('a client splits spans with more values than a request may have', async () => {
  const client = new StoreClient({ baseUrl: server.url, apiKey: 'admin' });
  const { rolloutId, attempt } = await client.startRollout({ input: 1 });
  const of = { rolloutId, attemptId: attempt.attemptId };
  const attributes = { tokens: Array(300_000).fill(7) };
  const spans = ['a', 'b', 'c'].map((spanId) => aSpan({ ...of, spanId, attributes }));
  expect((await client.appendSpans(spans)).map((span) => span?.spanId)).toEqual(['a', 'b', 'c']);
  const tooLarge = aSpan({ ...of, spanId: 'd', attributes: { tokens: Array(500_001).fill(7) } });
  await expect(client.appendSpans([tooLarge])).rejects.toThrow('more than 500000 JSON values');
  await client.close();
});

test('bodies in memory are bounded in all, by project and by attempt', () => {
  const budget = new BodyBudget({ total: 30, project: 20, attempt: 10 });
  const agent = { project: 'a', attemptId: 'at-1' };
  const release = budget.reserve(agent, 8);
  expect(() => budget.reserve(agent, 8)).toThrow('Request bodies of attempt at-1 of project a use 8 of 10 bytes');
  budget.reserve({ project: 'a', attemptId: null }, 12);
  expect(() => budget.reserve({ project: 'a', attemptId: null }, 1)).toThrow('of project a use 20 of 20 bytes');
  budget.reserve({ project: 'b', attemptId: null }, 10);
  expect(() => budget.reserve({ project: 'c', attemptId: null }, 1)).toThrow('of all projects use 30 of 30 bytes');
  release();
  budget.reserve(agent, 8);
});
