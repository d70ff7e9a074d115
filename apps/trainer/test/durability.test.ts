import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Store } from '@agentlightning/core';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Trainer } from '../src/index.ts';
import { AglProcess } from './agl-process.ts';
import smallConfig from './fixtures/small.config.ts';

const config = path.resolve(import.meta.dirname, 'fixtures/small.config.ts');
const rolloutsPerStep = 24;
const steps = 4;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-durability-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const train = (...flags: string[]): AglProcess =>
  new AglProcess(['train', config, '--json', '--data-dir', folder, ...flags]);

async function withStore<TResult>(use: (store: Store) => Promise<TResult>): Promise<TResult> {
  const store = await openStore(`sqlite:${path.join(folder, 'agl.db')}`);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Every step has its record once, and every rollout of every step has ended once. */
async function expectWholeRun(runId: string): Promise<void> {
  await withStore(async (store) => {
    expect((await store.getRun(runId)).status).toBe('finished');
    const metrics = await store.queryMetrics(runId);
    expect(metrics.map(({ step }) => step)).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
    const { items } = await store.queryRollouts({ runId, modeIn: ['train'] });
    expect(items.length).toBe(steps * rolloutsPerStep);
    expect(new Set(items.map(({ status }) => status))).toEqual(new Set(['succeeded']));
    for (let step = 1; step <= steps; step += 1) {
      const ofStep = items.filter(({ metadata }) => metadata?.['step'] === step);
      expect(ofStep.length).toBe(rolloutsPerStep);
    }
  });
}

async function resumeAndFinish(runId: string): Promise<readonly number[]> {
  await using resumed = train('--resume', runId);
  const done = await resumed.event('done');
  expect(done['run']).toBe(runId);
  return resumed.events.filter(({ event }) => event === 'step').map((event) => Number(event['step']));
}

describe('a run whose trainer, with store and gateway, is killed', () => {
  test('while it collects rollouts goes on from the last finished step', async () => {
    await using first = train();
    const runId = String((await first.event('started'))['run']);
    await first.event('step', (event) => event['step'] === 2);
    await first.kill();
    const finishedBefore = await withStore(async (store) => (await store.queryMetrics(runId)).length);
    expect(finishedBefore).toBeGreaterThanOrEqual(2);
    expect(finishedBefore).toBeLessThan(steps);
    const stepsDone = await resumeAndFinish(runId);
    expect(stepsDone).toEqual(Array.from({ length: steps - finishedBefore }, (_, index) => finishedBefore + 1 + index));
    await expectWholeRun(runId);
  });

  test('before the first step is finished begins that step again', async () => {
    await using first = train();
    const runId = String((await first.event('started'))['run']);
    await first.event('evaluated');
    await first.kill();
    expect(await resumeAndFinish(runId)).toEqual([1, 2, 3, 4]);
    await expectWholeRun(runId);
  });
});

test('a run whose runtime is killed stops with a clear message and can be resumed', async () => {
  await using first = train();
  const runId = String((await first.event('started'))['run']);
  await first.event('step', (event) => event['step'] === 1);
  // The embedded runtime is the trainer's only child process.
  process.kill(first.childPids()[0] ?? 0, 'SIGKILL');
  expect(await first.exitCode()).toBe(3);
  expect(first.stderr).toMatch(/RUNTIME_UNAVAILABLE/);
  expect(first.stderr).toMatch(/--resume/);
  expect((await resumeAndFinish(runId)).at(-1)).toBe(steps);
  await expectWholeRun(runId);
});

test('a run whose gateway is killed stops with a clear message and can be resumed', async () => {
  const dbUrl = `sqlite:${path.join(folder, 'agl.db')}`;
  await using runtime = new AglProcess(['runtime', '--port', '0', '--dir', path.join(folder, 'checkpoints')]);
  const address = String((await runtime.event('ready'))['address']);
  const upstream = String((await runtime.event('ready'))['inference']);
  const startGateway = (): AglProcess =>
    new AglProcess(['gateway', '--store', dbUrl, '--upstream', upstream, '--model', 'small-run', '--port', '0']);
  await using gateway = startGateway();
  const url = String((await gateway.event('ready'))['url']);
  await using first = train('--runtime', address, '--gateway', url, '--run', 'small-run');
  const runId = String((await first.event('started'))['run']);
  await first.event('step', (event) => event['step'] === 1);
  await gateway.kill();
  expect(await first.exitCode()).toBe(3);
  expect(first.stderr).toMatch(/the gateway at .* does not answer/);
  await using secondGateway = startGateway();
  const secondUrl = String((await secondGateway.event('ready'))['url']);
  await using resumed = train('--runtime', address, '--gateway', secondUrl, '--resume', runId);
  await resumed.event('done');
  await expectWholeRun(runId);
});

test('a run whose disk is full stops with a clear message and goes on when there is room', async () => {
  const file = path.join(folder, 'agl.db');
  const trainer = new Trainer({ ...smallConfig, dataDir: folder });
  const small = await openStore(file, { maxSizeBytes: 600_000 });
  const ended = trainer.train({ store: small, runId: 'full' });
  await expect(ended).rejects.toMatchObject({ code: 'STORE_FULL' });
  await small.close();
  const roomy = await openStore(file);
  const { runId } = await trainer.train({ store: roomy, resume: 'full' });
  await roomy.close();
  await expectWholeRun(runId);
});
