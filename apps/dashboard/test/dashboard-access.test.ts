import { request } from 'node:http';
import { ManualClock } from '@agentlightning/core/testing';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Dashboard, serveDashboard } from '../src/index.ts';

const viewerKey = 'a-viewer-key';
let store: SqlStore;
let open: Dashboard;
let locked: Dashboard;

beforeAll(async () => {
  store = await openStore(':memory:');
  open = await serveDashboard({ store });
  locked = await serveDashboard({ store, viewerKey });
});

afterAll(async () => {
  await open.close();
  await locked.close();
  await store.close();
});

/** The status of a request with these headers, which `fetch` would not let a test set. */
function statusOf(port: number, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: '/api/runs', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

test('requests for another host name or of another web page are refused', async () => {
  expect(await statusOf(open.port, {})).toBe(200);
  expect(await statusOf(open.port, { host: 'localhost' })).toBe(200);
  expect(await statusOf(open.port, { host: 'attacker.example' })).toBe(403);
  expect(await statusOf(open.port, { origin: 'https://attacker.example' })).toBe(403);
  expect(await statusOf(open.port, { origin: 'null' })).toBe(403);
});

test('a dashboard that other machines can reach needs a viewer key', async () => {
  await expect(serveDashboard({ store, host: '0.0.0.0' })).rejects.toMatchObject({ code: 'CONFIG' });
  await expect(serveDashboard({ store, host: '0.0.0.0', viewerKey: '' })).rejects.toMatchObject({ code: 'CONFIG' });
});

test('at an address of the network, web pages of other origins are refused', async () => {
  const reachable = await serveDashboard({ store, host: '0.0.0.0', viewerKey });
  try {
    const authorization = `Bearer ${viewerKey}`;
    const host = `dashboard.example:${reachable.port}`;
    expect(await statusOf(reachable.port, { authorization, host })).toBe(200);
    expect(await statusOf(reachable.port, { authorization, host, origin: `http://${host}` })).toBe(200);
    expect(await statusOf(reachable.port, { authorization, host, origin: 'http://attacker.example' })).toBe(403);
  } finally {
    await reachable.close();
  }
});

test('the viewer key is accepted as a bearer token and as a cookie after sign-in', async () => {
  expect(await statusOf(locked.port, {})).toBe(401);
  expect(await statusOf(locked.port, { authorization: 'Bearer wrong' })).toBe(401);
  expect(await statusOf(locked.port, { authorization: `Bearer ${viewerKey}` })).toBe(200);
  const signIn = async (key: string): Promise<Response> =>
    await fetch(`${locked.url}/session`, { method: 'POST', body: new URLSearchParams({ key }), redirect: 'manual' });
  const wrong = await signIn('wrong');
  expect([wrong.headers.get('location'), wrong.headers.get('set-cookie')]).toEqual(['/?signIn=failed', null]);
  const cookie = (await signIn(viewerKey)).headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
  expect(cookie).not.toContain(viewerKey);
  expect(await statusOf(locked.port, { cookie: cookie.split(';')[0] ?? '' })).toBe(200);
  expect(await statusOf(locked.port, { cookie: 'agl_viewer=00' })).toBe(401);
});

test('every response has a strict content security policy', async () => {
  for (const path of ['/', '/api/runs', '/api/none']) {
    const { headers } = await fetch(`${open.url}${path}`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  }
});

test.each([
  ['multipart/form-data; boundary=x', '--y'],
  ['multipart/form-data', 'no boundary'],
  ['application/json', '{"key":'],
  ['text/plain', '\u0000'],
])('a sign-in with a body of type %s that is not a form fails', async (type, body) => {
  const init = { method: 'POST', headers: { 'content-type': type }, body, redirect: 'manual' } as const;
  const dashboard = await serveDashboard({ store, viewerKey });
  const response = await fetch(`${dashboard.url}/session`, init);
  expect([response.status, response.headers.get('location')]).toEqual([303, '/?signIn=failed']);
  const large = await fetch(`${dashboard.url}/session`, { ...init, body: 'x'.repeat(5000) });
  expect(large.status).toBe(413);
  await dashboard.close();
});

test('an address that sends many wrong keys must wait', async () => {
  const clock = new ManualClock();
  const dashboard = await serveDashboard({ store, viewerKey, clock });
  const signIn = async (key: string): Promise<number> => {
    const init = { method: 'POST', body: new URLSearchParams({ key }), redirect: 'manual' } as const;
    const response = await fetch(`${dashboard.url}/session`, init);
    return response.headers.has('set-cookie') ? 200 : response.status;
  };
  for (let count = 0; count < 10; count += 1) expect(await signIn('wrong')).toBe(303);
  expect([await signIn('wrong'), await signIn(viewerKey)]).toEqual([429, 429]);
  await clock.advance(60_000);
  expect(await signIn(viewerKey)).toBe(200);
  await dashboard.close();
});
