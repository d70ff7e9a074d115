import { feedback } from '@agentlightning/client/feedback';
import { AgentLightningError } from '@agentlightning/core';
import { aSpan, ManualClock } from '@agentlightning/core/testing';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '@agentlightning/store';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';

let store: SqlStore;
let server: StoreServer;
let clock: ManualClock;
let apiKey: string;

beforeEach(async () => {
  clock = new ManualClock();
  store = await openStore(':memory:', { clock });
  ({ key: apiKey } = await store.createAccessKey({ name: 'shop', role: 'feedback' }));
  server = await createStoreServer({ store, port: 0, clock });
  await store.recordTraces('shop', [aSpan({ rolloutId: 'ro-1' })]);
});

afterEach(async () => {
  await server.close();
  await store.close();
});

const send = (traceId: string, judgement: Parameters<typeof feedback>[1], key = apiKey): Promise<void> =>
  feedback(traceId, judgement, { url: server.url, apiKey: key });

test('feedback of a browser is recorded once, by a key that may do nothing else', async () => {
  const { url } = server;
  const allowed = await fetch(`${url}/v1/agl/feedback`, {
    method: 'OPTIONS',
    headers: { origin: 'https://shop.example', 'access-control-request-method': 'POST' },
  });
  expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  await send('ro-1', { id: 'r7', label: 'bad', correction: 'Returns are free.', user: 'u1' });
  await send('ro-1', { id: 'r7', label: 'bad', correction: 'Returns are free.', user: 'u1' });
  const { items } = await store.queryFeedback({ runId: 'shop' });
  expect(items).toEqual([
    {
      id: 'r7',
      rolloutId: 'ro-1',
      attemptId: 'at-1',
      source: 'user',
      user: 'u1',
      label: 'bad',
      score: 0,
      correction: 'Returns are free.',
      timeMs: clock.now(),
    },
  ]);
  const headers = { authorization: `Bearer ${apiKey}` };
  expect((await fetch(`${url}/v1/agl/feedback`, { headers })).status).toBe(403);
  expect((await fetch(`${url}/v1/agl/rollouts/ro-1`, { headers })).status).toBe(403);
});

test('unknown and deleted traces, wrong keys, rollouts of runs and reviews are refused with a code', async () => {
  await expect(send('ro-9', { score: 1 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(send('ro-1', {})).rejects.toMatchObject({ code: 'VALIDATION' });
  await expect(send('ro-1', { score: 1 }, 'another key')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  await store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' });
  await expect(send(rolloutId, { score: 1 })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  const review = { rollout_id: 'ro-1', label: 'good', source: 'reviewer' };
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` };
  const init = { method: 'POST', headers, body: JSON.stringify(review) };
  expect((await fetch(`${server.url}/v1/agl/feedback`, init)).status).toBe(403);
  await store.deleteRollouts(['ro-1']);
  await expect(send('ro-1', { score: 1 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('an unreachable store is a typed error', async () => {
  let calls = 0;
  const failing = (): Promise<Response> => {
    calls += 1;
    return Promise.reject(new AgentLightningError({ code: 'UNREACHABLE', message: 'no route' }));
  };
  const given = { url: 'http://127.0.0.1:1', apiKey, fetch: failing, signal: AbortSignal.abort() };
  await expect(feedback('ro-1', { score: 1 }, given)).rejects.toMatchObject({ code: 'UNREACHABLE' });
  expect(calls).toBe(1);
});

test('the signal ends a pause between retries, and the error is that of the last attempt', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const stop = new AbortController();
  let calls = 0;
  const failing = (): Promise<Response> => {
    calls += 1;
    return Promise.reject(new Error(`attempt ${calls}`));
  };
  const given = { url: 'http://127.0.0.1:1', apiKey, fetch: failing, signal: stop.signal };
  const sent = feedback('ro-1', { score: 1 }, given);
  const refused = expect(sent).rejects.toMatchObject({ code: 'UNREACHABLE', message: /attempt 2/ });
  await vi.advanceTimersByTimeAsync(250);
  expect([calls, vi.getTimerCount()]).toEqual([2, 1]);
  stop.abort();
  // No time passes.
  await refused;
  expect([calls, vi.getTimerCount()]).toEqual([2, 0]);
});

test('a restricted key sends at most 600 requests a minute', async () => {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` };
  const body = JSON.stringify({ rollout_id: 'ro-1', id: 'same', score: 1 });
  const post = async (): Promise<number> => {
    const response = await fetch(`${server.url}/v1/agl/feedback`, { method: 'POST', headers, body });
    await response.body?.cancel();
    return response.status;
  };
  const statuses: number[] = [];
  for (let sent = 0; sent < 601; sent += 1) statuses.push(await post());
  expect([new Set(statuses.slice(0, 600)), statuses[600]]).toEqual([new Set([201]), 429]);
  await clock.advance(60_000);
  expect(await post()).toBe(201);
});
