import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import type { Attempt, Store } from '@agentlightning/core';
import { attemptFailureOrigin } from '@agentlightning/core/store';
import { StoreClient } from '@agentlightning/core/store-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type AglEvent, AglProcess, summaryOf } from './agl-process.ts';
import { RunFolder, smallConfigFile, waitingConfigFile } from './run-folder.ts';
import { withStore } from './with-store.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
  vi.stubEnv('AGL_TOKEN_SECRET', 'a secret of thirty-two bytes or more').stubEnv('GATE', folder.gate);
});
afterEach(() => {
  folder[Symbol.dispose]();
  vi.unstubAllEnvs();
});

function startStore(port = '0'): AglProcess {
  return new AglProcess(['store', '--db', folder.storeUrl, '--port', port]);
}

async function urlOf(server: AglProcess): Promise<string> {
  return String((await server.event('ready'))['url']);
}

function startRunner(store: string, agent: string, ...flags: string[]): AglProcess {
  return new AglProcess(['runner', '--store', store, '--agent', agent, '--concurrency', '4', ...flags]);
}

async function listWorkers(store: string): Promise<readonly AglEvent[]> {
  await using command = new AglProcess(['workers', '--store', store, '--json']);
  expect(await command.exitCode()).toBe(0);
  return command.output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AglEvent);
}

/** Ports that no server listens on. */
async function freePorts(count: number): Promise<readonly string[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => String((server.address() as AddressInfo).port));
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** The attempts of all rollouts, by rollout. */
async function attemptsOf(store: Store, runId: string): Promise<readonly (readonly Attempt[])[]> {
  const { items } = await store.queryRollouts({ runId });
  return await Promise.all(items.map(async ({ rolloutId }) => (await store.queryAttempts(rolloutId)).items));
}

test('a run without an embedded runner reports this, and is trained by a runner that connects, drains and leaves', async () => {
  await using server = startStore();
  const store = await urlOf(server);
  await using trainer = folder.train('--store', store, '--run', 'remote', '--no-runner', '--steps', '1');
  const warning = await trainer.event('warning', ({ message }) => String(message).includes('no runner is there'));
  expect(warning['message']).toContain(`agl runner --store ${store} --run remote`);
  await using runner = startRunner(store, smallConfigFile, '--id', 'elsewhere', '--run', 'remote');
  await trainer.event('runners', ({ runners }) => runners === 1);
  await vi.waitFor(
    async () =>
      expect(await listWorkers(store)).toMatchObject([
        { runner: 'elsewhere', version: '0.0.0', state: 'running', concurrency: 4, processes: 1, run: 'remote' },
      ]),
    { timeout: 30_000 },
  );
  await trainer.event('finished');
  runner.terminate();
  expect(await runner.exitCode()).toBe(0);
  await vi.waitFor(async () => expect(await listWorkers(store)).toEqual([]), { timeout: 30_000 });
  const attempts = (await attemptsOf(new StoreClient({ baseUrl: store }), 'remote')).flat();
  expect(new Set(attempts.map(({ workerId, status }) => `${workerId} ${status}`))).toEqual(
    new Set(['elsewhere succeeded']),
  );
});

test('the parts of a reward that compare siblings score complete groups of a runner elsewhere, collected asynchronously', async () => {
  const config = path.join(import.meta.dirname, 'fixtures/ranked.config.ts');
  await using server = startStore();
  const store = await urlOf(server);
  await using trainer = folder.trainFile(config, '--store', store, '--run', 'ranked', '--no-runner');
  await using runner = startRunner(store, config, '--run', 'ranked');
  const stepped = summaryOf(await trainer.event('stepped'));
  runner.terminate();
  const metrics = stepped['metrics'] as Readonly<Record<string, number>>;
  // Groups of the small configuration.
  expect(metrics['reward/siblings/mean']).toBe(4);
  expect(metrics['reward/rank/mean']).toBeGreaterThanOrEqual(0);
  expect(metrics['failures/no_reward']).toBe(0);
});

test('a runner that is killed or drained loses nothing, and its agents have not failed', {
  tags: ['long'],
}, async () => {
  await using server = startStore();
  const url = await urlOf(server);
  const store = new StoreClient({ baseUrl: url });
  const running = async (workerId: string): Promise<readonly Attempt[]> =>
    (await attemptsOf(store, 'remote'))
      .flat()
      .filter((attempt) => attempt.workerId === workerId && attempt.status === 'running');
  await using trainer = folder.train('--store', url, '--run', 'remote', '--no-runner', '--steps', '1');
  await using killed = startRunner(url, waitingConfigFile, '--id', 'killed', '--lease', '4s', '--processes', '2');
  await vi.waitFor(async () => expect(await running('killed')).toHaveLength(4), { timeout: 60_000 });
  await killed.kill();
  const killedMs = Date.now();
  await vi.waitFor(async () => expect(await running('killed')).toHaveLength(0), { timeout: 60_000 });
  expect(Date.now() - killedMs).toBeLessThan(10_000);
  expect(await listWorkers(url)).toMatchObject([{ runner: 'killed', state: 'lost' }]);
  await using drained = startRunner(url, waitingConfigFile, '--id', 'drained', '--grace', '1s');
  await vi.waitFor(async () => expect(await running('drained')).not.toHaveLength(0), { timeout: 60_000 });
  drained.terminate();
  expect(await drained.exitCode()).toBe(0);
  expect(await running('drained')).toEqual([]);
  writeFileSync(folder.gate, '');
  await using _finishing = startRunner(url, waitingConfigFile, '--id', 'finishing');
  expect(await trainer.event('evaluated')).toMatchObject({
    phase: 'before',
    summary: { rollouts: 12, failed: 0, missing: 0 },
  });
  await trainer.event('finished');
  const attempts = await attemptsOf(store, 'remote');
  expect(attempts).toHaveLength(12 + 24 + 12);
  for (const each of attempts) {
    expect(each.filter(({ status }) => status === 'succeeded')).toHaveLength(1);
    const lost = each.filter(({ status }) => status !== 'succeeded');
    expect(lost.map(attemptFailureOrigin)).toEqual(lost.map(() => 'infrastructure'));
  }
  expect(attempts.flat().filter(({ workerId }) => workerId === 'killed')).toHaveLength(4);
});

test('services, trainer and runner may be started in any order', { tags: ['long'] }, async () => {
  vi.stubEnv('AGL_RUNTIME_KEY', 'key-of-the-runtime').stubEnv('AGL_UPSTREAM_KEY', 'key-of-the-runtime');
  writeFileSync(folder.gate, '');
  const [storePort, gatewayPort, runtimePort, modelPort] = await freePorts(4);
  const store = `http://127.0.0.1:${storePort}`;
  const gateway = `http://127.0.0.1:${gatewayPort}`;
  await using runner = startRunner(store, waitingConfigFile, '--gateway', gateway);
  const services = ['--store', store, '--gateway', gateway, '--runtime', `127.0.0.1:${runtimePort}`];
  await using trainer = folder.trainFile(
    waitingConfigFile,
    ...services,
    '--run',
    'ordered',
    '--no-runner',
    '--steps',
    '1',
  );
  await trainer.event('warning', ({ message }) => String(message).startsWith(`waiting for the store at ${store}`));
  await vi.waitFor(() => expect(runner.stderr).toContain(`waiting for the store at ${store}`), { timeout: 60_000 });
  await using _store = startStore(storePort);
  await trainer.event('warning', ({ message }) => String(message).startsWith('waiting for the training runtime at'));
  await vi.waitFor(() => expect(runner.stderr).toContain(`waiting for the gateway at ${gateway}`), { timeout: 60_000 });
  const folderOfRuntime = path.join(folder.path, 'checkpoints');
  await using _runtime = new AglProcess([
    ...['runtime', '--dir', folderOfRuntime],
    ...['--port', runtimePort ?? '', '--inference-port', modelPort ?? ''],
  ]);
  await trainer.event('warning', ({ message }) => String(message).startsWith(`waiting for the gateway at ${gateway}`));
  await using _gateway = folder.gateway(`http://127.0.0.1:${modelPort}/v1`, 'ordered', gatewayPort);
  await trainer.event('finished');
});

test('--agent-env selects the environment variables of agents, and passes no keys', async () => {
  const [queued] = await withStore(folder.path, (store) => store.enqueueRollouts([{ input: { question: 'a' } }]));
  const config = path.resolve(import.meta.dirname, 'fixtures/environment.config.ts');
  const args = ['runner', '--store', folder.storeUrl, '--agent', config, '--max-rollouts', '1'];
  const env = { SEARCH_API_KEY: 'one', PAYMENT_API_KEY: 'two', AGL_STORE_KEY: 'three' };
  await using runner = new AglProcess([...args, '--agent-env', 'SEARCH_API_KEY'], { env });
  expect(await runner.exitCode()).toBe(0);
  const { items } = await withStore(folder.path, (store) => store.querySpans({ rolloutId: queued?.rolloutId ?? '' }));
  const names = items.flatMap(({ attributes }) => attributes['environment'] ?? []);
  expect(names).toEqual(expect.arrayContaining(['PATH', 'SEARCH_API_KEY']));
  for (const name of ['PAYMENT_API_KEY', 'AGL_STORE_KEY', 'AGL_TOKEN_SECRET', 'GATE'])
    expect(names).not.toContain(name);
});
