import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AgentLightningError, Attempt, SpanInput, Store } from '@agentlightning/core';
import { modelCallAttributes } from '@agentlightning/core/internal';
import { recordedFailure } from '@agentlightning/core/protocol';
import { findFinalReward, spanNames } from '@agentlightning/core/spans';
import { attemptFailureOrigin } from '@agentlightning/core/store';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WorkerPool } from '../src/workers/index.ts';
import { WorkerRights } from '../src/workers/worker-rights.ts';
import type { ScriptedTask } from './fixtures/scripted-worker.ts';

/** Each test starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

const entry = path.join(import.meta.dirname, 'fixtures/scripted-worker.ts');

let folder = '';
let store: Store;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-pool-'));
  store = await openStore(':memory:');
  // The processes of the pool are started with the flags of this one.
  process.execArgv.push('--conditions=@agentlightning/source');
});
afterEach(async () => {
  process.execArgv.pop();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A pool whose messages are kept. */
class TestPool implements AsyncDisposable {
  readonly output: string[] = [];
  readonly errors: AgentLightningError[] = [];
  readonly failed: Promise<AgentLightningError>;
  readonly pool: WorkerPool;
  #onLine: () => void = () => undefined;

  constructor({
    args = [],
    concurrency = 4,
    environment = null,
  }: {
    readonly args?: readonly string[];
    readonly concurrency?: number;
    readonly environment?: readonly string[] | null;
  } = {}) {
    let fail: (error: AgentLightningError) => void = () => undefined;
    this.failed = new Promise((resolve) => {
      fail = resolve;
    });
    this.pool = new WorkerPool({
      program: { entry, args, environment },
      store,
      workers: 1,
      concurrency,
      workerId: 'worker',
      runId: null,
      onOutput: (line) => {
        this.output.push(line);
        this.#onLine();
      },
      onError: (error) => this.errors.push(error),
      onFailure: fail,
    });
    this.pool.start();
  }

  /** Resolves when this line is written. */
  async line(text: string): Promise<void> {
    while (!this.output.includes(text)) {
      await new Promise<void>((resolve) => {
        this.#onLine = resolve;
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.stop(0);
  }
}

/** Enqueues tasks; the ids of their rollouts. */
async function enqueue(tasks: readonly ScriptedTask[], timeoutMs = 60_000): Promise<readonly string[]> {
  const config = { maxAttempts: 2, timeoutMs, retryCondition: ['failed', 'timeout'] as const };
  const rollouts = await store.enqueueRollouts(tasks.map((task) => ({ input: { ...task }, config })));
  return rollouts.map(({ rolloutId }) => rolloutId);
}

async function attemptsOf(rolloutId: string): Promise<readonly Attempt[]> {
  return (await store.queryAttempts(rolloutId)).items;
}

/** The process in which the rollout succeeded. */
async function processOf(rolloutId: string): Promise<number | null> {
  const { items } = await store.querySpans({ rolloutId });
  return findFinalReward(items)?.rewards[0]?.value ?? null;
}

const others: readonly ScriptedTask[] = [{ deed: 'succeed' }, { deed: 'succeed' }];

test('a process runs many rollouts, and its output is that of the pool', async () => {
  await using agents = new TestPool();
  const ids = await enqueue([{ deed: 'log' }, ...others]);
  const ended = await store.waitForRollouts(ids);
  expect(ended.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  expect(new Set(await Promise.all(ids.map(processOf))).size).toBe(1);
  await agents.line('to standard output');
  await agents.line('to standard error');
});

test('an agent cannot write to other attempts through the channel of its process', async () => {
  const [victim = '', forger = ''] = await enqueue([{ deed: 'succeed' }, { deed: 'hang' }]);
  const [claimed] = await store.claimRollouts({ workerId: 'another' });
  const attemptId = claimed?.attempt.attemptId ?? '';
  expect(claimed?.rolloutId).toBe(victim);
  const span = {
    ...{
      rolloutId: victim,
      attemptId,
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      parentId: null,
      name: 'forged',
    },
    ...{ status: { code: 'OK', message: null }, attributes: {}, events: [], links: [], startTimeMs: 1, endTimeMs: 2 },
    resource: { attributes: {}, schemaUrl: '' },
  };
  const requests = [
    { method: 'getRollout', args: [victim] },
    { method: 'updateRollout', args: [victim, { status: 'requeuing' }] },
    { method: 'updateAttempt', args: [victim, attemptId, { status: 'failed' }] },
    { method: 'querySpans', args: [{ rolloutId: victim }] },
    { method: 'appendSpans', args: [[span]] },
    { method: 'createAttemptToken', args: [{ rolloutId: victim, attemptId }] },
    { method: 'getResources', args: ['rs-another'] },
    { method: 'updateRollout', args: [victim, { status: 'succeeded' }] },
    { method: 'appendSpans', args: [[{ ...span, attributes: 'none' }]] },
    { method: 'claimRollouts', args: [] },
  ];
  await store.updateRollout(forger, { input: { deed: 'forge', requests } });
  await using agents = new TestPool();
  await store.waitForRollouts([forger]);
  const denied = requests.slice(0, 7).map(() => 'PERMISSION_DENIED');
  await agents.line([...denied, 'VALIDATION', 'VALIDATION', 'VALIDATION'].join(' '));
  expect((await store.getRollout(victim)).status).toBe('preparing');
  expect((await store.querySpans({ rolloutId: victim })).items).toEqual([]);
});

test('an agent cannot record model calls, nor a reward after the end of its attempt', async () => {
  const rights = new WorkerRights();
  const [id = ''] = await enqueue([{ deed: 'succeed' }]);
  const [claimed] = await store.claimRollouts({ workerId: 'another' });
  if (claimed === undefined) throw new Error('nothing was claimed');
  rights.claimed(claimed);
  const span = (attributes: object): SpanInput => ({
    ...{ rolloutId: id, attemptId: claimed.attempt.attemptId, traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
    ...{ parentId: null, name: spanNames.annotation, status: { code: 'OK', message: null }, events: [], links: [] },
    ...{ attributes: { ...attributes }, startTimeMs: 1, endTimeMs: 2, resource: { attributes: {}, schemaUrl: '' } },
  });
  const reward = span({ 'agentlightning.reward.0.name': 'primary', 'agentlightning.reward.0.value': 1 });
  expect(() => rights.assertMay('appendSpans', [[reward]])).not.toThrow();
  const forged = span({ [modelCallAttributes.responseTokenIds]: [1, 2] });
  expect(() => rights.assertMay('appendSpans', [[forged]])).toThrow(/reserved attribute/);
  rights.ended(claimed.attempt.attemptId);
  expect(() => rights.assertMay('appendSpans', [[span({})]])).not.toThrow();
  expect(() => rights.assertMay('appendSpans', [[reward]])).toThrow(/has ended/);
});

test('functions that an agent replaces are those of its rollout only', async () => {
  const file = path.join(folder, 'continue');
  await using agents = new TestPool();
  const [replacing = ''] = await enqueue([{ deed: 'replace', file }]);
  await agents.line('replaced');
  const ended = await store.waitForRollouts(await enqueue(others));
  expect(ended.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  writeFileSync(file, '');
  expect((await store.waitForRollouts([replacing]))[0]?.status).toBe('succeeded');
});

test('an agent that never awaits does not stop the other rollouts of its process', { tags: ['long'] }, async () => {
  await using _agents = new TestPool();
  const [blocking = '', ...waiting] = await enqueue([{ deed: 'block' }, ...others, ...others], 600_000);
  const ended = await store.waitForRollouts(waiting);
  expect(ended.map(({ status }) => status)).toEqual(waiting.map(() => 'succeeded'));
  expect(await attemptsOf(blocking)).toMatchObject([{ status: 'timeout' }, {}]);
});

test('agents do not inherit the credentials of Agent Lightning', async () => {
  for (const name of ['AGL_TOKEN_SECRET', 'AGL_RUNTIME_KEY', 'AGL_SERVER_KEY', 'AGL_STORE_KEY', 'SEARCH_API_KEY'])
    vi.stubEnv(name, 'secret');
  await using agents = new TestPool();
  const ids = await enqueue([{ deed: 'environment' }]);
  await store.waitForRollouts(ids);
  await vi.waitFor(() => expect(agents.output.join()).toContain('SEARCH_API_KEY'), { timeout: 60_000 });
  expect(agents.output.join()).not.toContain('AGL_');
  vi.unstubAllEnvs();
});

test('agents have only the listed variables and basic ones', async () => {
  const withheld = ['AGL_STORE_KEY', 'NODE_AUTH_TOKEN', 'OTHER_API_KEY'];
  for (const name of [...withheld, 'SEARCH_API_KEY', 'NODE_KEYRING']) vi.stubEnv(name, 'value');
  await using agents = new TestPool({ environment: ['SEARCH_API_KEY', 'AGL_STORE_KEY'] });
  await store.waitForRollouts(await enqueue([{ deed: 'environment' }]));
  await agents.line('NODE_KEYRING,SEARCH_API_KEY');
  vi.unstubAllEnvs();
});

test('a pool is one worker with its load, which leaves when it stops', async () => {
  const [id = ''] = await enqueue([{ deed: 'wait-for-file', file: path.join(folder, 'never') }]);
  const agents = new TestPool();
  await vi.waitFor(
    async () =>
      expect((await store.queryWorkers()).items).toMatchObject([
        {
          workerId: 'worker',
          status: 'busy',
          currentRolloutId: id,
          heartbeatStats: { state: 'running', running: 1, concurrency: 4, processes: 1, lease_ms: 8000 },
        },
      ]),
    { timeout: 60_000 },
  );
  expect((await attemptsOf(id)).map(({ workerId }) => workerId)).toEqual(['worker']);
  await agents.pool.stop(0);
  await vi.waitFor(async () => expect((await store.queryWorkers()).items).toEqual([]), { timeout: 30_000 });
});

describe('a process that ends', () => {
  test.each(['throw', 'exit'] as const)('by an agent (%s) fails only its attempt', async (deed) => {
    const file = path.join(folder, 'never');
    const waiting: ScriptedTask = { deed: 'wait-for-file', file, attempts: [1] };
    const ids = await enqueue([waiting, waiting, { deed, attempts: [1] }]);
    await using agents = new TestPool();
    const ended = await store.waitForRollouts(ids);
    expect(ended.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    const [first, , culprit] = await Promise.all(ids.map(attemptsOf));
    expect(culprit?.map(({ status }) => status)).toEqual(['failed', 'succeeded']);
    expect(culprit?.map(attemptFailureOrigin)).toEqual(['agent', null]);
    expect(first?.map(({ status }) => status)).toEqual(['unresponsive', 'succeeded']);
    expect(first?.map(attemptFailureOrigin)).toEqual(['infrastructure', null]);
    expect(agents.errors[0]).toMatchObject({ code: 'AGENT_CRASHED' });
  });

  test('each time that an agent runs fails that agent when no attempt is left', async () => {
    const ids = await enqueue([{ deed: 'exit' }, ...others]);
    await using _agents = new TestPool();
    const ended = await store.waitForRollouts(ids);
    expect(ended.map(({ status }) => status).toSorted()).toEqual(['failed', 'succeeded', 'succeeded']);
    const counted = (await attemptsOf(ids[0] ?? '')).filter((attempt) => attemptFailureOrigin(attempt) === 'agent');
    expect(counted.map((attempt) => recordedFailure(attempt)?.code)).toEqual(['AGENT_CRASHED', 'AGENT_CRASHED']);
  });

  test('by a signal each time that an agent runs fails that agent, found among the others', async () => {
    const ids = await enqueue([{ deed: 'kill' }, ...others]);
    await using _agents = new TestPool();
    const ended = await store.waitForRollouts(ids);
    expect(ended.find(({ rolloutId }) => rolloutId === ids[0])?.status).toBe('failed');
    expect(ended.filter(({ status }) => status === 'succeeded')).toHaveLength(2);
  });

  test('by a signal once loses nothing', async () => {
    const ids = await enqueue([{ deed: 'kill', attempts: [1] }, ...others]);
    await using _agents = new TestPool();
    const ended = await store.waitForRollouts(ids);
    expect(ended.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect((await attemptsOf(ids[0] ?? '')).map(attemptFailureOrigin)).toEqual(['infrastructure', null]);
  });
});

test('a process with an agent that ignores its abort is replaced, and its other rollouts continue', async () => {
  const file = path.join(folder, 'end');
  const [waiting = ''] = await enqueue([{ deed: 'wait-for-file', file }]);
  const [hanging = ''] = await enqueue([{ deed: 'hang', attempts: [1] }], 2000);
  await using agents = new TestPool({ concurrency: 2 });
  await store.waitForRollouts([hanging]);
  await vi.waitFor(() => expect(agents.errors.map(({ message }) => message).join()).toContain('ignores its abort'), {
    timeout: 60_000,
  });
  // Another process runs what is enqueued from now on.
  const first = await processOf(hanging);
  await vi.waitFor(
    async () => {
      const [later = ''] = await enqueue([{ deed: 'succeed' }]);
      await store.waitForRollouts([later]);
      expect(await processOf(later)).not.toBe(first);
    },
    { timeout: 60_000 },
  );
  writeFileSync(file, '');
  await store.waitForRollouts([waiting]);
  expect(await attemptsOf(waiting)).toHaveLength(1);
  expect(await processOf(waiting)).toBe(first);
});

test('a pool that is stopped returns its rollouts to the queue without counting their attempts', async () => {
  const [id = ''] = await enqueue([{ deed: 'wait-for-file', file: path.join(folder, 'never') }]);
  const agents = new TestPool();
  await vi.waitFor(async () => expect((await store.getRollout(id)).status).toBe('running'), { timeout: 60_000 });
  await agents.pool.stop(0);
  expect((await store.getRollout(id)).status).toBe('requeuing');
  expect((await attemptsOf(id)).map(({ status }) => status)).toEqual(['unresponsive']);
});

test.each([
  ['unloadable', /ended 5 times in a row without a rollout, the last one with exit code 9/],
  ['wrong', /there is no agent/],
])('a pool whose agent cannot be loaded (%s) fails', async (arg, message) => {
  await using agents = new TestPool({ args: [arg] });
  expect((await agents.failed).message).toMatch(message);
});
