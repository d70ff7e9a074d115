import path from 'node:path';
import { attemptFailureOrigin } from '@agentlightning/core/store';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type TrainConfig, Trainer, type TrainingEvent } from '../src/index.ts';
import { AglProcess, stepOf } from './agl-process.ts';
import smallConfig, { type SmallTask } from './fixtures/small.config.ts';
import { impatientConfigFile, RunFolder, smallSteps } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 });

let folder: RunFolder;
beforeEach(() => {
  vi.stubEnv('AGL_RUNTIME_KEY', 'key-of-the-runtime').stubEnv('AGL_UPSTREAM_KEY', 'key-of-the-runtime');
  folder = new RunFolder();
});
afterEach(() => {
  folder[Symbol.dispose]();
  vi.unstubAllEnvs();
});

test('a run whose embedded runtime is killed restarts it and completes', async () => {
  await using agl = folder.train();
  const runId = String((await agl.event('started'))['runId']);
  await agl.event('stepped', (event) => stepOf(event) === 1);
  // The embedded runtime is the first process that the trainer starts.
  process.kill(agl.childPids()[0] ?? 0, 'SIGKILL');
  const warning = await agl.event('warning', ({ message }) => String(message).includes('the run resumes from its'));
  expect(warning['message']).toMatch(/ended with signal SIGKILL.*restart 1 of at most 3 in a row/);
  await agl.event('finished');
  expect(agl.events.filter(({ type }) => type === 'started')).toHaveLength(2);
  await folder.expectWholeRun(runId);
});

test('a run that may not restart its runtime stops with a clear message when it is killed, and can be resumed', {
  tags: ['long'],
}, async () => {
  const config = path.resolve(import.meta.dirname, 'fixtures/never-restarted.config.ts');
  await using first = folder.trainFile(config);
  const runId = String((await first.event('started'))['runId']);
  await first.event('stepped', (event) => stepOf(event) === 1);
  process.kill(first.childPids()[0] ?? 0, 'SIGKILL');
  expect(await first.exitCode()).toBe(3);
  expect(first.stderr).toMatch(/RUNTIME_UNAVAILABLE/);
  expect(first.stderr).toMatch(/--resume/);
  expect((await folder.resumeAndFinish(runId)).at(-1)).toBe(smallSteps);
  await folder.expectWholeRun(runId);
});

/** A runtime in a separate process; another one at the same port finds its checkpoints. */
const startRuntime = (port: string): AglProcess =>
  new AglProcess(['runtime', '--port', port, '--dir', path.join(folder.path, 'checkpoints')]);

test('a run whose runtime is restarted resumes with the new one', { tags: ['long'] }, async () => {
  await using runtime = startRuntime('0');
  const address = String((await runtime.event('ready'))['address']);
  await using first = folder.train('--runtime', address);
  const runId = String((await first.event('started'))['runId']);
  await first.event('stepped');
  await runtime.kill();
  await using restarted = startRuntime(address.slice(address.lastIndexOf(':') + 1));
  await restarted.event('ready');
  await first.event('warning', ({ message }) => String(message).includes('the run resumes from its last checkpoint'));
  await first.event('finished');
  await folder.expectWholeRun(runId);
});

test('a run whose store is away for a while completes', { tags: ['long'] }, async () => {
  const startStore = (port: string): AglProcess => new AglProcess(['store', '--db', folder.storeUrl, '--port', port]);
  await using store = startStore('0');
  const url = String((await store.event('ready'))['url']);
  await using agl = folder.train('--store', url, '--run', 'away');
  await agl.event('stepped', (event) => stepOf(event) === 1);
  await store.kill();
  await agl.event('warning', ({ message }) => String(message).includes('cannot be reached'));
  await using again = startStore(new URL(url).port);
  await again.event('ready');
  await agl.event('finished');
  await folder.expectWholeRun('away');
});

test('a run whose runtime is killed while it learns does that step again', { tags: ['long'] }, async () => {
  await using runtime = startRuntime('0');
  const runtimeOf = (address: string) =>
    ({ type: 'grpc', model: 'tiny-random', address, apiKey: 'key-of-the-runtime' }) as const;
  const address = String((await runtime.event('ready'))['address']);
  const trainer = new Trainer({
    ...smallConfig,
    limits: { maxRestarts: 0 },
    run: { ...smallConfig.run, dataDir: folder.path },
    runtime: runtimeOf(address),
  });
  const ended = trainer.fit({
    runId: 'learning',
    onEvent: (event) => {
      const isCollected = event.type === 'rollout-finished' && event.phase === 'step' && event.finished === event.total;
      if (isCollected && event.step === 2) void runtime.kill();
    },
  });
  await expect(ended).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  await using another = startRuntime('0');
  const elsewhere = runtimeOf(String((await another.event('ready'))['address']));
  await new Trainer({ ...smallConfig, run: { ...smallConfig.run, dataDir: folder.path }, runtime: elsewhere }).fit({
    resume: 'learning',
  });
  await folder.expectWholeRun('learning');
});

test('a run whose model endpoint refuses stops before anything is measured', { tags: ['long'] }, async () => {
  await using runtime = startRuntime('0');
  const address = String((await runtime.event('ready'))['address']);
  const gatewayTo = (upstream: string): AglProcess => folder.gateway(upstream, 'refused');
  await using lost = gatewayTo('http://127.0.0.1:1/v1');
  const lostUrl = String((await lost.event('ready'))['url']);
  await using first = folder.train('--runtime', address, '--gateway', lostUrl, '--run', 'refused');
  expect(await first.exitCode()).toBe(3);
  expect(first.stderr).toMatch(/all 12 rollouts failed; the first: .*http:\/\/127\.0\.0\.1:1\/v1 could not be reached/);
  await using found = gatewayTo(String((await runtime.event('ready'))['inference']));
  const foundUrl = String((await found.event('ready'))['url']);
  await using resumed = folder.train('--runtime', address, '--gateway', foundUrl, '--resume', 'refused');
  expect(await resumed.event('evaluated')).toMatchObject({ phase: 'before', summary: { failed: 0 } });
  await resumed.event('finished');
  await folder.expectWholeRun('refused');
});

test('a run whose gateway is killed stops with a clear message and can be resumed', { tags: ['long'] }, async () => {
  await using runtime = startRuntime('0');
  const address = String((await runtime.event('ready'))['address']);
  const upstream = String((await runtime.event('ready'))['inference']);
  const startGateway = (): AglProcess => folder.gateway(upstream, 'small-run');
  await using gateway = startGateway();
  const url = String((await gateway.event('ready'))['url']);
  const connection = ['--runtime', address, '--gateway', url, '--run', 'small-run'];
  await using first = folder.trainFile(impatientConfigFile, ...connection);
  const runId = String((await first.event('started'))['runId']);
  await first.event('stepped', (event) => stepOf(event) === 1);
  await gateway.kill();
  expect(await first.exitCode()).toBe(3);
  expect(first.stderr).toMatch(/the gateway at .* does not respond/);
  await using secondGateway = startGateway();
  const secondUrl = String((await secondGateway.event('ready'))['url']);
  await using resumed = folder.train('--runtime', address, '--gateway', secondUrl, '--resume', runId);
  await resumed.event('finished');
  await folder.expectWholeRun(runId);
});

/** The metrics of a run behind a separate gateway, without times. The gateway is killed after these steps. */
async function metricsBehindGateway(at: RunFolder, killedAfter: readonly number[]): Promise<readonly unknown[]> {
  await using runtime = new AglProcess(['runtime', '--port', '0', '--dir', path.join(at.path, 'checkpoints')]);
  const address = String((await runtime.event('ready'))['address']);
  const upstream = String((await runtime.event('ready'))['inference']);
  let gateway = at.gateway(upstream, 'small-run');
  try {
    const url = String((await gateway.event('ready'))['url']);
    await using run = at.train('--runtime', address, '--gateway', url, '--run', 'small-run');
    for (const killed of killedAfter) {
      await run.event('stepped', (event) => stepOf(event) === killed);
      await gateway.kill();
      gateway = at.gateway(upstream, 'small-run', new URL(url).port);
    }
    await run.event('finished');
  } finally {
    await gateway[Symbol.asyncDispose]();
  }
  await at.expectWholeRun('small-run');
  const { items } = await at.withStore((store) => store.queryMetrics('small-run'));
  return items.map(({ step, values }) => [step, Object.entries(values).filter(([name]) => !name.startsWith('time/'))]);
}

test('a run whose separate gateway is killed twice ends with the metrics of an uninterrupted one', {
  tags: ['long'],
  timeout: 400_000,
}, async () => {
  using uninterrupted = new RunFolder();
  const expected = await metricsBehindGateway(uninterrupted, []);
  expect(await metricsBehindGateway(folder, [1, 2])).toEqual(expected);
});

test('a gateway that is away for a while ends no run, and is not measured as failures of the agent', async () => {
  await using runtime = startRuntime('0');
  const { address, inference } = await runtime.event('ready');
  await using gateway = folder.gateway(String(inference), 'outage');
  const url = String((await gateway.event('ready'))['url']);
  const restarted: AglProcess[] = [];
  const events: TrainingEvent[] = [];
  let started = 0;
  /** The outage lasts until the trainer has noticed it. */
  const endOutage = (): void => {
    if (restarted.length > 0) return;
    restarted.push(folder.gateway(String(inference), 'outage', new URL(url).port));
  };
  const config: TrainConfig<SmallTask> = {
    ...smallConfig,
    agent: async (task, context) => {
      started += 1;
      // By an agent, not on progress: an evaluation can end between two reports of its progress.
      if (started === 3) await gateway.kill();
      return await smallConfig.agent(task, context);
    },
    run: { dataDir: folder.path },
    steps: 0,
    agents: { concurrency: 2 },
    runtime: { type: 'grpc', model: 'tiny-random', address: String(address), apiKey: 'key-of-the-runtime' },
    gateway: { url },
  };
  await new Trainer(config).fit({
    runId: 'outage',
    onEvent: (event) => {
      events.push(event);
      if (event.type === 'warning' && event.message.includes('waiting until it responds')) endOutage();
    },
  });
  await Promise.all(restarted.map((process) => process[Symbol.asyncDispose]()));
  expect(restarted).toHaveLength(1);
  const before = events.find(({ type }) => type === 'evaluated');
  expect(before).toMatchObject({ phase: 'before', summary: { rollouts: 12, failed: 0, missing: 0 } });
  const attempts = await folder.withStore(async (store) => {
    const { items } = await store.queryRollouts({ runId: 'outage', metadata: { phase: 'before' } });
    return await Promise.all(items.map(async ({ rolloutId }) => (await store.queryAttempts(rolloutId)).items));
  });
  // The calls waited for the gateway; those that it received and did not answer are an outage too.
  const failures = attempts.flat().filter(({ status }) => status === 'failed');
  expect(failures.filter((attempt) => attemptFailureOrigin(attempt) !== 'infrastructure')).toEqual([]);
});

test('a run whose disk is full stops with a clear message and resumes when space is available', {
  tags: ['long'],
}, async () => {
  const file = path.join(folder.path, 'agl.db');
  const trainer = new Trainer({ ...smallConfig, run: { ...smallConfig.run, dataDir: folder.path } });
  const small = await openStore(file, { maxSizeBytes: 600_000 });
  const ended = trainer.fit({ store: small, runId: 'full' });
  await expect(ended).rejects.toMatchObject({ code: 'STORE_FULL' });
  await small.close();
  const roomy = await openStore(file);
  const { runId } = await trainer.fit({ store: roomy, resume: 'full' });
  await roomy.close();
  await folder.expectWholeRun(runId);
});
