import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AgentLightningClient } from '@agentlightning/client';
import { type AccessRight, accessRoles, roleRights, serverRoutes } from '@agentlightning/core/protocol';
import { StoreClient } from '@agentlightning/core/store-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';
import { AglProcess, stepOf } from './agl-process.ts';
import { startCuttableProxy } from './cuttable-proxy.ts';
import smallConfig from './fixtures/small.config.ts';
import { RunFolder } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 300_000 });

const script = path.resolve(import.meta.dirname, 'fixtures/client-script.ts');

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder[Symbol.dispose]());

interface RunningServer {
  readonly process: AglProcess;
  readonly url: string;
  readonly adminKey: string;
}

async function startServer(...flags: readonly string[]): Promise<RunningServer> {
  const command = ['server', '--data', folder.path, '--port', '0', '--model', 'tiny-random', ...flags];
  const server = new AglProcess(command);
  const ready = await server.event('ready');
  const adminKey = readFileSync(String(ready['keyFile']), 'utf8').trim();
  return { process: server, url: String(ready['url']), adminKey };
}

async function createKey(role: string, project: string): Promise<string> {
  const flags = ['--data', folder.path, '--name', `${role} of ${project}`, '--role', role];
  const args = ['keys', 'create', '--json', ...flags, ...(role === 'admin' ? [] : ['--project', project])];
  const { output } = await runAgl(args);
  return (JSON.parse(output) as { readonly key: string }).key;
}

/** The program of a user in its own process. */
function startClient(url: string, apiKey: string, env: Readonly<Record<string, string>> = {}): AglProcess {
  const command = [process.execPath, '--conditions=@agentlightning/source', script];
  return new AglProcess([], { command, env: { AGL_URL: url, AGL_KEY: apiKey, ...env } });
}

/** Routes of the gateway and the dashboard with the right that each requires. */
const otherRoutes: readonly (readonly [method: string, path: string, right: AccessRight])[] = [
  ['POST', '/v1/chat/completions', 'attempt:write'],
  ['POST', '/rollout/ro-1/attempt/at-1/v1/chat/completions', 'attempt:write'],
  ['POST', '/v1/responses', 'attempt:write'],
  ['POST', '/v1/messages', 'attempt:write'],
  ['GET', '/v1/models', 'attempt:read'],
  ['GET', '/metrics', 'work:read'],
  ['GET', '/admin/upstreams', 'admin'],
  ['GET', '/admin/state', 'admin'],
  ...['store', 'runs', 'runs/r', 'runs/r/metrics', 'runs/r/tasks', 'runs/r/prompts', 'rollouts', 'rollouts/r'].map(
    (name) => ['GET', `/api/${name}`, 'project:read'] as const,
  ),
  ['GET', '/api/workers', 'project:read'],
  ['GET', '/api/rollouts/r/spans/s?attempt=a', 'project:read'],
  ['GET', '/api/rollouts/r/spans/s/tokens?attempt=a', 'project:read'],
  ['POST', '/api/rollouts/r/annotations', 'project:write'],
];

test('every role has its rights on every route of server, gateway and dashboard', async () => {
  await using server = (await startServer()).process;
  const url = String((await server.event('ready'))['url']);
  const keys: Record<string, string> = {};
  for (const role of ['admin', 'trainer', 'worker', 'viewer', 'ingest', 'feedback'])
    keys[role] = await createKey(role, 'default');
  const store = new StoreClient({ baseUrl: url, apiKey: keys['worker'] ?? '' });
  const { rolloutId, attempt } = await store.startRollout({ input: 'task' });
  keys['attempt'] = await store.createAttemptToken({ rolloutId, attemptId: attempt.attemptId });
  await store.close();
  const routes = [
    ...Object.values(serverRoutes).map(
      (route) => [route.method, route.path.replace(/:\w+/g, 'unknown'), route.right] as const,
    ),
    ...otherRoutes,
  ];
  for (const [method, route, right] of routes) {
    for (const role of [...accessRoles, 'anonymous'] as const) {
      const response = await fetch(`${url}${route}`, {
        method,
        headers: role === 'anonymous' ? {} : { authorization: `Bearer ${keys[role]}` },
        ...(method === 'GET' ? {} : { body: '7' }),
      });
      await response.body?.cancel();
      const seen = `${method} ${route} by ${role}: ${response.status}`;
      const isOther = role === 'attempt' && route.startsWith('/rollout/');
      if (role === 'anonymous') expect(seen).toMatch(/: 401$/);
      else if (!roleRights[role].includes(right) || isOther) expect(seen).toMatch(/: 403$/);
      else expect(seen).not.toMatch(/: (401|403)$/);
    }
  }
});

test('two projects train at a time, and see nothing of each other', { tags: ['long'] }, async () => {
  const { process: server, url, adminKey } = await startServer('--max-concurrent-runs', '2');
  await using _server = server;
  const keys = { red: await createKey('trainer', 'red'), blue: await createKey('trainer', 'blue') };
  await using red = startClient(url, keys.red, { STEPS: '4' });
  await using blue = startClient(url, keys.blue);
  const run = String((await red.event('run'))['run']);
  const other = String((await blue.event('run'))['run']);
  // Both have started before one of them ends.
  await Promise.all([red.event('started'), blue.event('started')]);
  expect(await blue.event('result')).toMatchObject({ runId: other, status: 'finished', step: 3 });
  expect(await red.event('result')).toMatchObject({ runId: run, status: 'finished', step: 4 });
  const client = new AgentLightningClient({ url, apiKey: keys.blue });
  expect((await client.runs()).map(({ runId }) => runId)).toEqual([other]);
  await expect(client.join(run, smallConfig.agent)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const unknown = 'run-00000000';
  const send = async (key: string, path: string, method = 'GET'): Promise<readonly [number, string]> => {
    const response = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${key}` } });
    return [response.status, await response.text()];
  };
  for (const { method, path: pattern } of Object.values(serverRoutes).filter((route) =>
    route.path.includes(':runId'),
  )) {
    const [status, text] = await send(keys.blue, pattern.replace(':runId', run), method);
    const missing = await send(keys.blue, pattern.replace(':runId', unknown), method);
    expect([status, text.replaceAll(run, unknown)]).toEqual(missing);
    expect(status).toBe(404);
  }
  for (const seen of [
    '/api/runs',
    '/api/rollouts',
    '/api/workers',
    '/v1/agl/runs',
    '/v1/agl/rollouts',
    '/v1/server/runs',
    '/metrics',
    '/health',
  ]) {
    const [status, text] = await send(keys.blue, seen);
    expect({ seen, status, leaks: text.includes(run) }).toEqual({ seen, status: 200, leaks: false });
  }
  expect((await send(keys.blue, `/projects/red/v1/server/runs/${run}`))[0]).toBe(404);
  expect((await send(adminKey, `/projects/red/v1/server/runs/${run}`))[0]).toBe(200);
  expect((await send(adminKey, '/projects/red/api/runs'))[1]).toContain(run);
  const { model } = await client.run(other).endpoint();
  expect(model).toContain(other);
});

test('the dashboard shows the project of the key, and to an admin the selected one', async () => {
  const { process: server, url, adminKey } = await startServer();
  await using _server = server;
  const [red, blue] = [await createKey('trainer', 'red'), await createKey('viewer', 'blue')];
  const store = new StoreClient({ baseUrl: url, apiKey: red });
  await store.createRun({ runId: 'run-red', name: 'red', config: {} });
  await store.close();
  const signIn = async (key: string): Promise<string> => {
    const body = new URLSearchParams({ key });
    const response = await fetch(`${url}/session`, { method: 'POST', body, redirect: 'manual' });
    return response.headers.get('set-cookie')?.split(';')[0] ?? '';
  };
  const get = async (target: string, cookie: string): Promise<readonly [number, string]> => {
    const response = await fetch(`${url}${target}`, { headers: { cookie }, redirect: 'manual' });
    return [response.status, await response.text()];
  };
  expect(await signIn('wrong')).toBe('');
  const sessions = { red: await signIn(red), blue: await signIn(blue), admin: await signIn(adminKey) };
  expect((await get('/api/runs', sessions.red))[1]).toContain('run-red');
  expect((await get('/api/runs', sessions.blue))[1]).not.toContain('run-red');
  expect((await get('/api/runs/run-red', sessions.blue))[0]).toBe(404);
  expect((await get('/projects/red', sessions.blue))[0]).toBe(404);
  const annotate = async (cookie: string, label: string): Promise<number> => {
    const init = { method: 'POST', headers: { cookie }, body: JSON.stringify({ label }) };
    return (await fetch(`${url}/api/rollouts/unknown/annotations`, init)).status;
  };
  expect(await annotate(sessions.blue, 'good')).toBe(403);
  expect(await annotate(sessions.red, 'neither')).toBe(400);
  expect(await annotate(sessions.red, 'good')).toBe(404);
  expect((await get('/api/runs', sessions.admin))[1]).not.toContain('run-red');
  expect((await get('/projects/red', sessions.admin))[0]).toBe(303);
  expect((await get('/api/runs', sessions.admin))[1]).toContain('run-red');
});

/** Cuts the network between client and server while a run trains, and asserts that nothing is lost. */
async function trainThroughCut(cutMs: number): Promise<void> {
  const { process: server, url, adminKey } = await startServer();
  await using _server = server;
  await using proxy = await startCuttableProxy(Number(new URL(url).port));
  await using client = startClient(`http://127.0.0.1:${proxy.port}`, adminKey, { STEPS: '4' });
  const run = String((await client.event('run'))['run']);
  await client.event('stepped');
  proxy.cut();
  await delay(cutMs);
  proxy.restore();
  expect(await client.event('result')).toMatchObject({ runId: run, status: 'finished', step: 4 });
  const steps = client.events.filter(({ type }) => type === 'stepped').map(stepOf);
  expect(steps).toEqual([1, 2, 3, 4]);
  const store = new StoreClient({ baseUrl: url, apiKey: adminKey });
  const { items } = await store.queryRollouts({ runId: run });
  expect(items.filter(({ status }) => status !== 'succeeded' && status !== 'cancelled')).toEqual([]);
  await store.close();
}

test('a run survives a cut of the network for three seconds', { tags: ['long'] }, async () => {
  await trainThroughCut(3000);
});

test('a run survives a cut of the network for twenty seconds', { tags: ['long'] }, async () => {
  await trainThroughCut(20_000);
});
