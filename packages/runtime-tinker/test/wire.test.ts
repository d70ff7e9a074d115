import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AgentLightningError, Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { closeServer, listen } from '@agentlightning/core/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type FakeTinkerOptions,
  type FakeTinkerServer,
  type Fault,
  startFakeTinkerServer,
} from '../src/testing/index.ts';
import type { PassDatum } from '../src/wire/pass-messages.ts';
import type { RemoteModel } from '../src/wire/remote-model.ts';
import { layerGroups, TinkerSession } from '../src/wire/tinker-session.ts';

/** Does not wait for retries; heartbeats are never due. */
const hastyClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms >= 10_000 ? 1_000_000 : 1, signal),
};

const tokenIds = Int32Array.from([269, 72, 105, 270, 66, 121, 101]);
const options = { baseModel: 'tiny-random', rank: 4, seed: 1, layers: layerGroups };
const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, gradientClipNorm: 0 };

async function serve(given: Partial<FakeTinkerOptions> = {}): Promise<FakeTinkerServer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tinker-'));
  const server = await startFakeTinkerServer({ dialect: 'binary', directory, baseModels: ['tiny-random'], ...given });
  onTestFinished(async () => {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  });
  return server;
}

async function openSession(
  { url, apiKey }: Pick<FakeTinkerServer, 'url' | 'apiKey'>,
  onLost: (error: AgentLightningError) => void = () => undefined,
): Promise<TinkerSession> {
  const session = await TinkerSession.open({ baseUrl: url, apiKey, clock: hastyClock, onLost });
  onTestFinished(() => session.close());
  return session;
}

/** Faults of the next requests of some routes. */
function faultsOf(faults: Readonly<Record<string, Fault[]>>): (route: string) => Fault | undefined {
  return (route) => faults[route]?.shift();
}

/** Rewards the last three tokens, at the ratio one. */
function lesson(logprobs: Float32Array): PassDatum {
  return { tokenIds, inputs: { logprobs, advantages: Float32Array.of(0, 0, 0, 1, 1, 1) } };
}

async function trainOnce(model: RemoteModel): Promise<void> {
  const [logprobs = new Float32Array()] = await model.score([{ tokenIds, inputs: {} }]);
  await Promise.all([model.addGradients([lesson(logprobs)]), model.step(adam)]);
}

async function rewardedLogprob(model: RemoteModel): Promise<number> {
  const [logprobs = new Float32Array()] = await model.score([{ tokenIds, inputs: {} }]);
  return logprobs.slice(3).reduce((sum, value) => sum + value, 0);
}

describe.each(['json', 'binary', 'sequences'] as const)('the dialect %s', (dialect) => {
  it('trains, samples, saves and loads', async () => {
    const session = await openSession(await serve({ dialect }));
    const named = [{ name: 'tiny-random', maxContext: null, isTrainable: true }];
    expect(await session.models()).toEqual(dialect === 'json' ? [] : named);
    const model = await session.createModel(options);
    const before = await rewardedLogprob(model);
    await trainOnce(model);
    const after = await rewardedLogprob(model);
    expect(after).toBeGreaterThan(before);

    const sampler = await model.publish();
    const promptTokens = [...tokenIds.subarray(0, 4)];
    const rule = { maxTokens: 5, temperature: 1, topP: 1, vocabularySize: 268, stopTokens: [] };
    const sample = await sampler.sample({ promptTokens, ...rule, seed: 3 });
    const text = Int32Array.from([...promptTokens, ...sample.tokens]);
    const [scores = new Float32Array()] = await model.score([{ tokenIds: text, inputs: {} }]);
    const gaps = sample.logprobs.map((logprob, at) => Math.abs(logprob - (scores[at + 3] ?? 0)));
    expect(Math.max(...gaps)).toBeLessThan(1e-4);

    const uri = await model.saveWeights('first');
    await trainOnce(model);
    const expected = await rewardedLogprob(model);
    const loaded = await session.loadModel(options, uri, true);
    expect(await rewardedLogprob(loaded)).toBe(after);
    await trainOnce(loaded);
    expect(await rewardedLogprob(loaded)).toBe(expected);
    await loaded.unload();
  });
});

it('cuts a pass into the requests that the server accepts, in order', async () => {
  const server = await serve();
  const model = await (await openSession(server)).createModel(options);
  const data = Array.from({ length: 100 }, (_, at) => ({ tokenIds: Int32Array.from([269, at, at + 1]), inputs: {} }));
  const scores = await model.score(data);
  expect(scores).toHaveLength(100);
  const [alone] = await model.score(data.slice(70, 71));
  expect(scores[70]).toEqual(alone);
  await model.addGradients(
    data.map(({ tokenIds: ids }) => ({ tokenIds: ids, inputs: { advantages: Float32Array.of(0, 1) } })),
  );
  // The server accepts at most 64 data in a request.
  expect(server.applied.get('forward_backward')).toBe(2);
});

describe('a step whose request meets a failure that passes', () => {
  it.each<[string, Record<string, Fault[]>]>([
    ['429 and 503', { optim_step: [{ status: 429 }, { status: 429 }, { status: 503 }] }],
    ['402 until the account is paid', { optim_step: [{ status: 402 }, { status: 402 }] }],
    ['a connection that breaks before the work', { optim_step: ['break_before'] }],
    ['a connection that breaks after the work', { optim_step: ['break_after', 'break_after'] }],
    ['a lost promise', { retrieve_future: [{ status: 410 }] }],
    ['polls that fail', { retrieve_future: [{ status: 408 }, { status: 500 }, 'break_before', { status: 429 }] }],
    [
      'results that are announced first',
      { retrieve_future: [{ status: 200, body: { status: 'complete_metadata', response_payload_size: 9 } }] },
    ],
    ['a result that is not there yet', { retrieve_future: [{ status: 200, body: { type: 'try_again' } }] }],
  ])('is applied once: %s', async (_what, faults) => {
    const active: Record<string, Fault[]> = {};
    const server = await serve({ fault: (route) => faultsOf(active)(route) });
    const model = await (await openSession(server)).createModel(options);
    const [logprobs = new Float32Array()] = await model.score([{ tokenIds, inputs: {} }]);
    await model.addGradients([lesson(logprobs)]);
    Object.assign(active, faults);
    await model.step(adam);
    expect(server.applied.get('optim_step')).toBe(1);
    expect(Object.values(active).flat()).toEqual([]);
  });
});

it('does not repeat a step whose answer was lost on a server that would apply it twice', async () => {
  const active: Record<string, Fault[]> = {};
  const server = await serve({ dialect: 'json', fault: (route) => faultsOf(active)(route) });
  const model = await (await openSession(server)).createModel(options);
  const [logprobs = new Float32Array()] = await model.score([{ tokenIds, inputs: {} }]);
  await model.addGradients([lesson(logprobs)]);
  active['optim_step'] = ['break_after'];
  await expect(model.step(adam)).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  expect(server.applied.get('optim_step')).toBe(1);
});

describe('a refusal', () => {
  it('names a wrong key', async () => {
    const { url } = await serve();
    const opening = openSession({ url, apiKey: 'tml-wrong' });
    await expect(opening).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await expect(opening).rejects.toThrow('invalid API key');
  });

  it('names an unknown base model', async () => {
    const session = await openSession(await serve());
    const making = session.createModel({ ...options, baseModel: 'none' });
    await expect(making).rejects.toMatchObject({ code: 'RUNTIME_REJECTED' });
    await expect(making).rejects.toThrow('Unknown base model none');
  });

  it.each(['json', 'binary', 'sequences'] as const)('names a checkpoint that has expired: %s', async (dialect) => {
    const server = await serve({ dialect });
    const session = await openSession(server);
    const model = await session.createModel(options);
    await model.score([{ tokenIds, inputs: {} }]);
    const uri = await model.saveWeights('gone');
    await session.deleteWeights(uri);
    const loading = session.loadModel(options, uri, true);
    await expect(loading).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(loading).rejects.toThrow(`does not load the checkpoint ${uri}, which may have expired`);
    await model.score([{ tokenIds, inputs: {} }]);
  });

  it.each([
    ['a page', { status: 200, text: '<html>Welcome</html>' }, /client\/config in an unknown form: <html>/],
    ['another JSON', { status: 200, text: '{"id": 7}' }, /the session in an unknown form/],
  ])('names a server of another protocol that returns %s', async (_what, { status, text }, message) => {
    const server = createServer((_request, response) => response.writeHead(status).end(text));
    const port = await listen(server, 'the page', { host: '127.0.0.1', port: 0 });
    onTestFinished(() => closeServer(server, 100, systemClock));
    const opening = openSession({ url: `http://127.0.0.1:${port}`, apiKey: 'tml' });
    await expect(opening).rejects.toMatchObject({
      code: 'RUNTIME_REJECTED',
      message: expect.stringMatching(message),
      remedy: expect.stringContaining('from 0.24 to 0.38'),
    });
  });

  it('names a server that reads passes in no form of this client', async () => {
    const newer: Fault = { status: 415, body: { detail: 'this requires v2 messages' } };
    const fault = (route: string): Fault | undefined => (/^forward/.test(route) ? newer : undefined);
    const model = await (await openSession(await serve({ fault }))).createModel(options);
    const scoring = model.score([{ tokenIds, inputs: {} }]);
    await expect(scoring).rejects.toMatchObject({ code: 'RUNTIME_REJECTED' });
    await expect(scoring).rejects.toThrow('neither as binary messages (415: this requires v2 messages) nor as JSON');
  });

  it.each([false, true])(
    'of a lost model is a loss, not a rejection; accepted first: %s',
    async (acceptsLostModels) => {
      const lost: string[] = [];
      const server = await serve();
      const port = Number(new URL(server.url).port);
      const session = await openSession(server, ({ message }) => lost.push(message));
      const model = await session.createModel(options);
      await trainOnce(model);
      const sampler = await model.publish();
      await server.close();
      await serve({ acceptsLostModels, port });
      const gone = { code: 'RUNTIME_UNAVAILABLE', message: expect.stringContaining('no longer has the models') };
      const rule = { maxTokens: 2, temperature: 1, topP: 1, vocabularySize: 268, stopTokens: [] };
      await expect(sampler.sample({ promptTokens: [269, 72], ...rule })).rejects.toMatchObject(gone);
      await expect(model.step(adam)).rejects.toMatchObject(gone);
      expect(lost.length).toBeGreaterThanOrEqual(2);
    },
  );

  it('does not use a number of the sequence', async () => {
    const server = await serve();
    const model = await (await openSession(server)).createModel(options);
    const wrong = model.addGradients([{ tokenIds, inputs: { advantages: Float32Array.of(Number.NaN) } }]);
    await expect(wrong).rejects.toMatchObject({ code: 'RUNTIME_REJECTED' });
    await trainOnce(model);
    expect(server.applied.get('optim_step')).toBe(1);
  });
});
