import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Store } from '@agentlightning/core';
import { env } from '@agentlightning/core/settings';
import { failWith, ScriptedModel } from '@agentlightning/core/testing';
import { serveGateway } from '@agentlightning/gateway';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Seconds on a free machine; this one may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-keys-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** The successful rollouts of the store: only these have a reward of the agent. */
async function succeededIn(store: Store): Promise<readonly unknown[]> {
  return (await store.queryRollouts({ statusIn: ['succeeded'] })).items;
}

const refuse = (): ReturnType<typeof failWith> => failWith(401, { message: 'Incorrect API key' });

test('a rejected key behind an external gateway ends a training run before its first step', async () => {
  await using model = await ScriptedModel.start(refuse);
  const { error, events, succeeded } = await withStore(folder, async (store) => {
    const gateway = await serveGateway({ store, upstream: { baseUrl: model.baseUrl, apiKey: 'sk-wrong' } });
    const outcome = await trainSmall(smallTrainer(folder, { gateway: { url: gateway.url }, steps: 3 }));
    await gateway.close();
    return { ...outcome, succeeded: await succeededIn(store) };
  });
  expect(error).toMatchObject({
    code: 'UNAUTHENTICATED',
    message: expect.stringMatching(/the gateway at http.* has a key that its model endpoint rejects/),
    remedy: expect.stringContaining('Set a key of the endpoint'),
  });
  expect(succeeded).toEqual([]);
  expect(events.filter(({ type }) => type === 'stepped' || type === 'evaluated')).toEqual([]);
});

test('a rejected key of an endpoint ends its evaluation, which has no reward', async () => {
  await using model = await ScriptedModel.start(refuse);
  vi.stubEnv('WRONG_KEY', 'sk-wrong');
  const endpoint = { baseUrl: model.baseUrl, model: 'letters', apiKey: env('WRONG_KEY') };
  await expect(smallTrainer(folder).test({ endpoint })).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
    message: expect.stringContaining('WRONG_KEY'),
  });
  expect(await withStore(folder, succeededIn)).toEqual([]);
});
