// @module-tag long
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AglProcess } from './agl-process.ts';
import { NetworkNamespaces } from './network-namespaces.ts';
import { RunFolder, smallConfigFile } from './run-folder.ts';

/** It starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

const keys = {
  AGL_STORE_KEY: 'the-key-of-the-operator-of-the-store',
  AGL_TOKEN_SECRET: 'a secret of thirty-two bytes or more',
  AGL_RUNTIME_KEY: 'key-of-the-runtime',
  AGL_UPSTREAM_KEY: 'key-of-the-runtime',
  AGL_ALLOW_INSECURE_KEYS: '1',
};

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder[Symbol.dispose]());

async function runnerKey(): Promise<string> {
  const args = ['keys', 'create', '--store', folder.storeUrl, '--name', 'runners', '--role', 'worker', '--json'];
  await using command = new AglProcess(args);
  expect(await command.exitCode()).toBe(0);
  return (JSON.parse(command.output) as { readonly key: string }).key;
}

test('a runner trains with a trainer in another network, with a separate key and without its secrets', async (context) => {
  const created = NetworkNamespaces.create();
  if (typeof created === 'string') return context.skip(created);
  using networks = created;
  const [address] = networks.addresses;
  const here = { prefix: networks.within(0), env: keys };
  const key = await runnerKey();
  await using store = new AglProcess(['store', '--db', folder.storeUrl, '--host', address], here);
  const checkpoints = path.join(folder.path, 'checkpoints');
  await using runtime = new AglProcess(['runtime', '--dir', checkpoints, '--inference-port', '4761'], here);
  const url = `http://${address}:4747`;
  const upstream = ['--upstream', 'http://127.0.0.1:4761/v1', '--model', 'apart'];
  await using gateway = new AglProcess(['gateway', '--host', '0.0.0.0', '--store', url, ...upstream], here);
  await Promise.all([store, runtime, gateway].map((server) => server.event('ready')));
  const services = ['--store', url, '--runtime', '127.0.0.1:4760', '--gateway', 'http://127.0.0.1:4750'];
  const flags = ['--json', '--data-dir', folder.path, '--run', 'apart', '--steps', '1', '--no-runner'];
  await using trainer = new AglProcess(['train', smallConfigFile, ...services, ...flags], here);
  await using _runner = new AglProcess(
    ['runner', '--agent', smallConfigFile, '--store', url, '--gateway', `http://${address}:4750`, '--id', 'remote'],
    { prefix: networks.within(1), env: { AGL_STORE_KEY: key, AGL_ALLOW_INSECURE_KEYS: '1' } },
  );
  expect(await trainer.event('evaluated')).toMatchObject({ summary: { rollouts: 12, failed: 0, missing: 0 } });
  await trainer.event('finished');
  await folder.withStore(async (opened) => {
    const { items } = await opened.queryRollouts({ runId: 'apart' });
    const attempts = await Promise.all(items.map(({ rolloutId }) => opened.getLatestAttempt(rolloutId)));
    expect(new Set(attempts.map((attempt) => attempt?.workerId))).toEqual(new Set(['remote']));
  });
});
