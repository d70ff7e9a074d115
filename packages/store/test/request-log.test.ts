import { once } from 'node:events';
import { request } from 'node:http';
import { AttemptTokens } from '@agentlightning/core/protocol';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../src/index.ts';

interface Line {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const attemptTokens = new AttemptTokens({ secrets: ['s'.repeat(32)] });
let lines: Line[];
let store: SqlStore;
let server: StoreServer;

const log = Object.fromEntries(
  (['debug', 'info', 'warn', 'error'] as const).map((level) => [
    level,
    (fields: object, message: string) => lines.push({ level, message, fields: { ...fields } }),
  ]),
) as unknown as Record<Line['level'], (fields: object, message: string) => void>;

beforeEach(async () => {
  lines = [];
  store = await openStore(':memory:');
  server = await createStoreServer({ store, port: 0, log, attemptTokens });
});
afterEach(async () => {
  await server.close();
  await store.close();
});

/** The line about a request; it follows the response. */
async function lineOf(requestId: string | null): Promise<Line | undefined> {
  const find = (): Line | undefined => lines.find(({ fields }) => fields['requestId'] === requestId);
  await vi.waitFor(() => expect(find()).toBeDefined(), 10_000);
  return find();
}

test('a request keeps its id, or is assigned one, and is logged in one line', async () => {
  const given = await fetch(`${server.url}/v1/agl/statistics`, { headers: { 'x-request-id': 'run-7:step.3' } });
  expect(given.headers.get('x-request-id')).toBe('run-7:step.3');
  expect(await lineOf('run-7:step.3')).toEqual({
    level: 'debug',
    message: 'request',
    fields: {
      requestId: 'run-7:step.3',
      method: 'GET',
      path: '/v1/agl/statistics',
      status: 200,
      durationMs: expect.any(Number),
    },
  });
  const made = (await fetch(`${server.url}/v1/agl/statistics`)).headers.get('x-request-id');
  expect(made).toMatch(/^req-[0-9a-f-]{36}$/);
  expect(await lineOf(made)).toBeDefined();
  expect(lines).toHaveLength(2);
});

test.each(['with space', 'x'.repeat(129), '<script>', ''])('an id like "%s" is not taken', async (id) => {
  const { headers } = await fetch(`${server.url}/v1/agl/health`, { headers: { 'x-request-id': id } });
  expect(headers.get('x-request-id')).toMatch(/^req-[0-9a-f-]{36}$/);
});

test('names the sender and the error, but never a key, wherever the client puts it', async () => {
  const { key, record } = await store.createAccessKey({ name: 'runner', role: 'worker' });
  const token = await attemptTokens.create({ rolloutId: 'ro-1', attemptId: 'at-7' });
  const locked = await createStoreServer({ store, port: 0, log, attemptTokens, apiKey: 'the one secret' });
  const secrets = [key, token, 'the one secret', 'a wrong secret'];
  for (const secret of secrets) {
    const path = encodeURIComponent(secret);
    for (const where of [
      '/v1/agl/statistics',
      `/v1/agl/rollouts?run_id=${path}`,
      `/v1/${path}`,
      `/v1/agl/resources/latest`,
    ]) {
      await fetch(`${locked.url}${where}`, { headers: { authorization: `Bearer ${secret}` } });
    }
  }
  await locked.close();
  await vi.waitFor(() => expect(lines).toHaveLength(16), 10_000);
  const text = JSON.stringify(lines);
  for (const secret of secrets) expect(text).not.toContain(secret.slice(-20));
  const refusals = lines.filter(({ level }) => level === 'info').map(({ fields }) => fields);
  expect(refusals).toContainEqual(
    expect.objectContaining({ status: 403, sender: record.keyId, errorCode: 'PERMISSION_DENIED' }),
  );
  expect(refusals).toContainEqual(expect.objectContaining({ status: 403, sender: 'at-7' }));
  expect(refusals).toContainEqual(expect.objectContaining({ status: 401, errorCode: 'UNAUTHENTICATED' }));
  expect(lines).toContainEqual(
    expect.objectContaining({ fields: expect.objectContaining({ status: 200, sender: 'AGL_STORE_KEY' }) }),
  );
});

test('a slow request is logged as a warning, unless it is a wait', async () => {
  const strict = await createStoreServer({ store, port: 0, log, slowRequestMs: 0 });
  const slow = await fetch(`${strict.url}/v1/agl/statistics`);
  expect(await lineOf(slow.headers.get('x-request-id'))).toMatchObject({ level: 'warn', message: 'slow request' });
  const waited = await fetch(`${strict.url}/v1/agl/queues/rollouts/dequeue`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ wait_seconds: 0.01 }),
  });
  expect(await lineOf(waited.headers.get('x-request-id'))).toMatchObject({ level: 'debug' });
  await strict.close();
});

test('an internal error is logged with its stack, which is not sent to the client', async () => {
  const broken = await openStore(':memory:');
  Object.assign(broken, { statistics: () => Promise.reject(new TypeError('secret inside')) });
  const fragile = await createStoreServer({ store: broken, port: 0, log });
  const response = await fetch(`${fragile.url}/v1/agl/statistics`);
  const text = await response.text();
  expect(text).not.toMatch(/secret|\.ts|at /);
  expect(JSON.parse(text)).toMatchObject({ error: { details: { requestId: response.headers.get('x-request-id') } } });
  expect(await lineOf(response.headers.get('x-request-id'))).toMatchObject({
    level: 'error',
    message: 'request failed',
    fields: { status: 500, errorCode: 'INTERNAL' },
  });
  expect(lines).toContainEqual({
    level: 'error',
    message: 'internal error',
    fields: { err: expect.any(TypeError) },
  });
  await fragile.close();
  await broken.close();
});

test('logs a client that disconnects before the response', async () => {
  let reached = (): void => undefined;
  const isReached = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const slow = await openStore(':memory:');
  let respond = (): void => undefined;
  const statistics = slow.statistics.bind(slow);
  Object.assign(slow, {
    statistics: async () => {
      reached();
      await new Promise<void>((resolve) => {
        respond = resolve;
      });
      return statistics();
    },
  });
  const patient = await createStoreServer({ store: slow, port: 0, log });
  const sent = request(`${patient.url}/v1/agl/statistics`, { headers: { 'x-request-id': 'gone' } }).end();
  const failed = once(sent, 'error');
  await isReached;
  sent.destroy(new Error('bye'));
  await failed;
  expect(await lineOf('gone')).toMatchObject({
    level: 'warn',
    message: 'client disconnected',
    fields: { status: null },
  });
  respond();
  await patient.close();
  await slow.close();
});
