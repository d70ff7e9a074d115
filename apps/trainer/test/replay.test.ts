import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { failWith, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resolveConfig } from '../src/config/resolve-config.ts';
import { openReplayer } from '../src/replay/open-replayer.ts';
import { acquireRunLease } from '../src/run/run-lease.ts';
import { smallConfig, smallTrainer, trainSmall } from './small-trainer.ts';
import { withStore } from './with-store.ts';

/** Limit for a test that starts processes, on a machine that may be busy. */
const timeoutMs = 120_000;

const onWarning = (): void => undefined;
const body = { messages: [{ role: 'user', content: 'Number 1?' }], max_tokens: 4, temperature: 0 };
const { signal } = new AbortController();

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-replay-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a request is repeated with a checkpoint of its run, one after another', { timeout: timeoutMs }, async () => {
  const { error } = await trainSmall(smallTrainer(folder, { steps: 2 }), { runId: 'replayed' });
  expect(error).toBeNull();
  await withStore(folder, async (store) => {
    const config = resolveConfig(smallConfig(folder), folder);
    const replayer = openReplayer({ store, config, endpoint: null, onWarning });
    const models = await replayer.models('replayed');
    expect(models.map(({ id }) => id)).toEqual(expect.arrayContaining(['final', 'best', '2']));
    const request = { runId: 'replayed', policy: null, body, signal };
    const responses = await Promise.all(['final', '2'].map((model) => replayer.complete({ ...request, model })));
    // Temperature 0: the final checkpoint is that of step 2.
    const [one, other] = responses.map(({ choices }) => JSON.stringify(choices));
    expect(one).toBe(other);
    await expect(replayer.complete({ ...request, model: '77' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    // The lease is free again.
    await (await acquireRunLease(store, 'replayed')).release();
  });
});

test('a request is repeated with an endpoint, whose failure is reported with its message', async () => {
  await using model = await ScriptedModel.start([respondWith('45'), failWith(400, { message: 'no such tool' })]);
  await withStore(folder, async (store) => {
    const endpoint = { baseUrl: model.baseUrl, model: 'gpt', apiKey: 'key' };
    const replayer = openReplayer({ store, config: null, endpoint, onWarning });
    expect(await replayer.models(null)).toEqual([{ id: 'endpoint', label: 'endpoint gpt' }]);
    const request = { runId: null, model: 'endpoint', policy: null, body, signal };
    expect(await replayer.complete(request)).toMatchObject({ choices: [{ message: { content: '45' } }] });
    await expect(replayer.complete(request)).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      message: expect.stringContaining('no such tool'),
    });
    await expect(replayer.complete({ ...request, model: 'final' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
