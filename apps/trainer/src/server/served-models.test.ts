import type { Upstream } from '@agentlightning/gateway';
import { createGateway } from '@agentlightning/gateway';
import { openStore } from '@agentlightning/store';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { ServedModels } from './served-models.ts';
import type { ServerRuntime } from './server-runtime.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const upstreamAt = (baseUrl: string): Upstream => ({
  baseUrl,
  model: 'policy',
  apiKey: 'secret',
  agents: [],
  names: [],
});
const local = upstreamAt('http://127.0.0.1:8000/v1');
const remote = upstreamAt('http://192.0.2.1:8000/v1');

async function servedModels(): Promise<{ readonly models: ServedModels; readonly urls: () => readonly string[] }> {
  const store = await openStore(':memory:');
  const gateway = createGateway({ store, upstream: [], mayBeEmpty: true });
  onTestFinished(async () => {
    await gateway.close();
    await store.close();
  });
  const registered: Upstream[][] = [];
  const models = new ServedModels({
    gateway: {
      setUpstream: (upstreams) => {
        gateway.setUpstream(upstreams);
        registered.push([upstreams].flat());
      },
    },
    // Models of runs that start need no runtime.
    runtime: {} as ServerRuntime,
    dataDir: '/',
    configOf: () => Promise.reject(new Error('unused')),
  });
  return { models, urls: () => (registered.at(-1) ?? []).map(({ baseUrl }) => baseUrl) };
}

test('an upstream that is refused does not affect the models of other runs', async () => {
  const { models, urls } = await servedModels();
  models.start('run-1', [local]);
  expect(() => models.start('run-2', [remote])).toThrow('Upstream key refused');
  models.start('run-3', [upstreamAt('http://127.0.0.1:9000/v1')]);
  expect(urls()).toEqual(['http://127.0.0.1:9000/v1', 'http://127.0.0.1:8000/v1']);
});

test('AGL_ALLOW_INSECURE_KEYS permits a runtime in a trusted network whose model endpoint is plain HTTP', async () => {
  vi.stubEnv('AGL_ALLOW_INSECURE_KEYS', '1');
  const { models, urls } = await servedModels();
  models.start('run-1', [remote]);
  expect(urls()).toEqual(['http://192.0.2.1:8000/v1']);
});
