import {
  AgentLightningError,
  currentRollout,
  emitMessage,
  emitReward,
  type RolloutContext,
  type SpanInput,
  type Store,
  tracer,
} from '@agentlightning/core';
import { rewardAttributes } from '@agentlightning/core/spans';
import { aSpan, ManualClock } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AgentContext } from './agent.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import { runRollouts, runTask } from './run-rollouts.ts';

let store: Store;

beforeEach(async () => {
  store = await openStore(':memory:');
});

afterEach(() => store.close());

/** A one-time event that can be awaited. */
function createEvent<TValue>(): { readonly happened: Promise<TValue>; readonly happen: (value: TValue) => void } {
  let happen: (value: TValue) => void = () => {};
  const happened = new Promise<TValue>((resolve) => {
    happen = resolve;
  });
  return { happened, happen };
}

const never = new Promise<never>(() => {});

/** The store with some methods replaced. */
function storeWith(methods: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const own: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name, target);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

test('a hanging agent times out, has its signal aborted, and does not block others', async () => {
  const clock = new ManualClock();
  const [hanging, fine] = await store.enqueueRollouts([
    { input: 'hang', config: { timeoutMs: 5000 } },
    { input: 'fine' },
  ]);
  const started = createEvent<AgentContext>();
  const run = runRollouts({
    store,
    clock,
    concurrency: 1,
    stopWhenIdle: true,
    agent: (task, context) => {
      if (task === 'fine') return 1;
      started.happen(context);
      return never;
    },
  });
  const { signal } = await started.happened;
  await clock.advance(4999);
  expect(signal.aborted).toBe(false);
  await clock.advance(1);
  expect(signal.reason).toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining('within 5000 ms') });
  const summary = await advanceUntilDone(clock, run);
  expect(summary).toMatchObject({ timeout: 1, succeeded: 1 });
  const attempt = await store.getLatestAttempt(hanging?.rolloutId ?? '');
  expect(attempt).toMatchObject({ status: 'timeout', metadata: { error: { code: 'TIMEOUT' } } });
  expect((await store.getRollout(hanging?.rolloutId ?? '')).status).toBe('failed');
  expect((await store.getRollout(fine?.rolloutId ?? '')).status).toBe('succeeded');
});

test.each([
  ['sent at once', 0, false, 'infrastructure'],
  ['sent in the second half', 3000, false, 'agent'],
  ['that had its response', 0, true, 'agent'],
] as const)('a timeout after a model call %s: %i ms', async (...[, sentMs, hasResponse, failureOrigin]) => {
  const clock = new ManualClock();
  const started = createEvent<RolloutContext | null>();
  const agent = (): Promise<never> => {
    started.happen(currentRollout());
    return never;
  };
  const run = runTask({ store, clock, task: { input: 1, config: { timeoutMs: 5000 } }, agent });
  const context = await started.happened;
  await clock.advance(sentMs);
  const ended = context?.onModelCall?.();
  if (hasResponse) ended?.(false);
  await clock.advance(5000 - sentMs);
  expect(await run).toMatchObject({ ending: 'timeout', error: { code: 'TIMEOUT' }, failureOrigin });
});

test('the runner’s timeout applies to rollouts without a timeout', async () => {
  const outcome = await runTask({ store, task: { input: 1 }, agent: () => never, timeoutMs: 1 });
  expect(outcome).toMatchObject({ ending: 'timeout', reward: null, error: { code: 'TIMEOUT' } });
});

test('an agent that stops on its signal still has a timeout', async () => {
  const agent = (_task: unknown, { signal }: AgentContext): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const outcome = await runTask({ store, task: { input: 1 }, agent, timeoutMs: 1 });
  expect(outcome.ending).toBe('timeout');
});

test('a timed-out attempt is retried if the rollout is configured so', async () => {
  await store.enqueueRollouts([{ input: 1, config: { timeoutMs: 500, maxAttempts: 2, retryCondition: ['timeout'] } }]);
  const summary = await runRollouts({
    store,
    stopWhenIdle: true,
    agent: (_task, { attemptNumber }) => (attemptNumber === 1 ? never : 1),
  });
  expect(summary).toMatchObject({ timeout: 1, succeeded: 1 });
});

test('late spans are dropped and reported, and open spans end as abandoned', async () => {
  const late: SpanInput[] = [];
  const goOn = createEvent<void>();
  const afterwards = createEvent<void>();
  const { rolloutId } = await runTask({
    store,
    task: { input: 1 },
    agent: () => {
      tracer.startSpan('left open');
      void goOn.happened.then(() => {
        emitMessage('too late');
        afterwards.happen();
      });
      return 1;
    },
    events: { onLateSpan: (span) => late.push(span) },
  });
  goOn.happen();
  await afterwards.happened;
  expect(late.map((span) => span.name)).toEqual(['agentlightning.message']);
  const { items } = await store.querySpans({ rolloutId });
  expect(items.map((span) => span.name).sort()).toEqual([
    'agentlightning.annotation',
    'agentlightning.rollout',
    'left open',
  ]);
  expect(items.find((span) => span.name === 'left open')?.attributes).toEqual({ 'agentlightning.abandoned': true });
});

test('a cancelled rollout aborts its agent at the next heartbeat and stays cancelled', async () => {
  const clock = new ManualClock();
  const [rollout] = await store.enqueueRollouts([{ input: 1 }]);
  const started = createEvent<AgentContext>();
  const run = runRollouts({
    store,
    clock,
    concurrency: 1,
    stopWhenIdle: true,
    heartbeatMs: 1000,
    agent: (_task, context) => {
      started.happen(context);
      return never;
    },
  });
  const { signal } = await started.happened;
  await store.updateRollout(rollout?.rolloutId ?? '', { status: 'cancelled' });
  expect(signal.aborted).toBe(false);
  await clock.advance(1000);
  const summary = await advanceUntilDone(clock, run);
  expect(signal.reason).toMatchObject({ code: 'CANCELLED' });
  expect(summary).toMatchObject({ cancelled: 1, failed: 0 });
  expect((await store.getRollout(rollout?.rolloutId ?? '')).status).toBe('cancelled');
});

test('the agent of a rollout that is already cancelled is not started', async () => {
  await store.enqueueRollouts([{ input: 1 }]);
  let isCalled = false;
  const racing = storeWith({
    claimRollouts: async (options) => {
      const claimed = await store.claimRollouts(options);
      for (const { rolloutId } of claimed) await store.updateRollout(rolloutId, { status: 'cancelled' });
      return claimed;
    },
  });
  const agent = (): void => {
    isCalled = true;
  };
  const summary = await runRollouts({ store: racing, agent, stopWhenIdle: true });
  expect(summary).toMatchObject({ cancelled: 1 });
  expect(isCalled).toBe(false);
});

test('heartbeats reach attempt and worker within the unresponsive limit', async () => {
  const clock = new ManualClock();
  // Heartbeats have the time of the store.
  const timed = await openStore(':memory:', { clock });
  const started = createEvent<AgentContext>();
  const finish = createEvent<number>();
  const run = runTask({
    store: timed,
    clock,
    task: { input: 1, config: { unresponsiveMs: 3000 } },
    agent: (_task, context) => {
      started.happen(context);
      return finish.happened;
    },
  });
  const { rolloutId } = await started.happened;
  await clock.advance(1000);
  const beatMs = clock.now();
  await clock.advance(999);
  const attempt = await timed.getLatestAttempt(rolloutId);
  expect(attempt?.lastHeartbeatTimeMs).toBe(beatMs);
  expect((await timed.getWorker(attempt?.workerId ?? ''))?.heartbeatStats).toHaveProperty('memory_rss_bytes');
  finish.happen(1);
  expect((await advanceUntilDone(clock, run)).ending).toBe('succeeded');
  await timed.close();
});

test('a stopped runner claims nothing and waits for running attempts', async () => {
  const [first, second] = await store.enqueueRollouts([{ input: 1 }, { input: 2 }]);
  const stop = new AbortController();
  const started = createEvent<void>();
  const finish = createEvent<number>();
  const run = runRollouts({
    store,
    concurrency: 1,
    signal: stop.signal,
    agent: () => {
      started.happen();
      return finish.happened;
    },
  });
  await started.happened;
  stop.abort();
  finish.happen(1);
  expect(await run).toMatchObject({ succeeded: 1, returned: 0 });
  expect((await store.getRollout(first?.rolloutId ?? '')).status).toBe('succeeded');
  expect((await store.getRollout(second?.rolloutId ?? '')).status).toBe('queuing');
});

test('attempts still running after the grace time return to the queue without using up an attempt', async () => {
  const clock = new ManualClock();
  const [rollout] = await store.enqueueRollouts([{ input: 1, config: { maxAttempts: 1 } }]);
  const rolloutId = rollout?.rolloutId ?? '';
  const stop = new AbortController();
  const started = createEvent<AgentContext>();
  const run = runRollouts({
    store,
    clock,
    concurrency: 2,
    signal: stop.signal,
    graceMs: 3000,
    agent: (_task, context) => {
      started.happen(context);
      return never;
    },
  });
  const { signal } = await started.happened;
  stop.abort();
  await clock.advance(2999);
  expect(signal.aborted).toBe(false);
  expect(await advanceUntilDone(clock, run)).toMatchObject({ returned: 1 });
  expect(signal.reason).toMatchObject({ code: 'CANCELLED' });
  expect((await store.getRollout(rolloutId)).status).toBe('requeuing');
  const again = await runRollouts({ store, agent: () => 1, stopWhenIdle: true });
  expect(again).toMatchObject({ succeeded: 1 });
  expect((await store.getRollout(rolloutId)).status).toBe('succeeded');
});

test('a stopped runner without running attempts ends immediately', async () => {
  const stop = new AbortController();
  const run = runRollouts({ store, agent: () => 1, signal: stop.signal, claimWaitMs: 600_000, graceMs: 600_000 });
  stop.abort();
  expect(await run).toMatchObject({ succeeded: 0 });
});

test('a rollout claimed during the stop returns to the queue without running', async () => {
  const [rollout] = await store.enqueueRollouts([{ input: 1 }]);
  const stop = new AbortController();
  const racing = storeWith({
    claimRollouts: async (options) => {
      const claimed = await store.claimRollouts(options);
      stop.abort();
      return claimed;
    },
  });
  const summary = await runRollouts({ store: racing, agent: () => 1, concurrency: 1, signal: stop.signal });
  expect(summary).toMatchObject({ returned: 1, succeeded: 0 });
  expect((await store.getRollout(rollout?.rolloutId ?? '')).status).toBe('requeuing');
});

test('requests to an unreachable store are retried without loss', async () => {
  const failing = (times: number): (() => void) => {
    let left = times;
    return () => {
      left -= 1;
      if (left >= 0) throw new AgentLightningError({ code: 'UNREACHABLE', message: 'no answer from the store' });
    };
  };
  const [claims, updates, spans] = [failing(2), failing(3), failing(2)];
  const flaky = storeWith({
    claimRollouts: async (options) => {
      claims();
      return store.claimRollouts(options);
    },
    updateAttempt: async (...args) => {
      updates();
      return store.updateAttempt(...args);
    },
    appendSpans: async (batch) => {
      spans();
      return store.appendSpans(batch);
    },
  });
  await store.enqueueRollouts([{ input: 1 }]);
  const errors: AgentLightningError[] = [];
  const summary = await runRollouts({
    store: flaky,
    agent: () => 1,
    concurrency: 1,
    stopWhenIdle: true,
    events: { onError: (error) => errors.push(error) },
  });
  expect(summary).toMatchObject({ succeeded: 1 });
  expect(errors.map((error) => error.code)).toEqual(Array(5).fill('UNREACHABLE'));
  expect((await store.statistics()).totalSpans).toBe(2);
});

test('an attempt with lost spans fails', async () => {
  const rejecting = storeWith({
    appendSpans: async () => {
      throw new AgentLightningError({ code: 'VALIDATION', message: 'this span is rejected' });
    },
  });
  const outcome = await runTask({ store: rejecting, task: { input: 1 }, agent: () => 1 });
  expect(outcome).toMatchObject({ ending: 'failed', error: { code: 'VALIDATION' } });
  expect(outcome.error?.message).toContain('Spans of attempt');
});

test('a runner that the store rejects ends with the error', async () => {
  const locked = storeWith({
    claimRollouts: async () => {
      throw new AgentLightningError({ code: 'UNAUTHENTICATED', message: 'wrong key' });
    },
  });
  await expect(runRollouts({ store: locked, agent: () => 1 })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
});

test('a hanging hook times out, and the rollout continues', async () => {
  const errors: AgentLightningError[] = [];
  const outcome = await runTask({
    store,
    task: { input: 1 },
    agent: () => 1,
    hookTimeoutMs: 1,
    hooks: { onRolloutStart: () => never },
    events: { onError: (error) => errors.push(error) },
  });
  expect(outcome.ending).toBe('succeeded');
  expect(errors[0]?.message).toContain('did not finish within 1 ms');
});

test('a timeout beyond the timer limit does not fire immediately', async () => {
  const outcome = await runTask({ store, task: { input: 1 }, agent: () => 1, timeoutMs: 2 ** 40 });
  expect(outcome.ending).toBe('succeeded');
});

/** Advances the clock by one second at a time until the work is done. */
async function advanceUntilDone<TResult>(clock: ManualClock, work: Promise<TResult>): Promise<TResult> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  while (!isDone) await clock.advance(1000);
  return done;
}

test('the agent of an attempt that has already ended is not started', async () => {
  let starts = 0;
  const agent = (): number => {
    starts += 1;
    return 1;
  };
  const task = { input: 'late' };
  const outcome = await runTask({ store, agent, task, signal: AbortSignal.abort() });
  expect(outcome).toMatchObject({ ending: 'returned', reward: null });
  expect(starts).toBe(0);
});

test('a reward after the end of the attempt is ignored', async () => {
  const writing = createEvent<void>();
  const emitted = createEvent<void>();
  const slow = storeWith({
    appendSpans: async (spans) => {
      writing.happen();
      await emitted.happened;
      return store.appendSpans(spans);
    },
  });
  const agent = async (): Promise<never> => {
    await writing.happened;
    emitReward(1);
    emitted.happen();
    return never;
  };
  // Long enough for the agent to have started: otherwise it would emit nothing.
  const outcome = await runTask({ store: slow, agent, task: { input: 'hang' }, timeoutMs: 1000 });
  expect(outcome).toMatchObject({ ending: 'timeout', reward: null });
});

test('the outcome has a reward that another process recorded', async () => {
  const agent = async (_task: unknown, { rolloutId, attemptId }: AgentContext): Promise<void> => {
    const attributes = rewardAttributes([{ name: 'primary', value: 0.5 }]);
    await store.appendSpans([aSpan({ rolloutId, attemptId, name: 'agentlightning.annotation', attributes })]);
  };
  expect(await runTask({ store, agent, task: { input: 'judged' } })).toMatchObject({ reward: 0.5 });
});

test('a rejected async callback is ignored', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  const onAttemptEnd = async (): Promise<void> => {
    throw new TypeError('the dashboard is down');
  };
  await runTask({ store, agent: () => 1, task: { input: 'fine' }, events: { onAttemptEnd } });
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

test('an agent whose calls are rejected because another attempt has replaced its own has not failed', async () => {
  const [queued] = await store.enqueueRollouts([{ input: 1, config: { maxAttempts: 1 } }]);
  const rolloutId = queued?.rolloutId ?? '';
  const endings: AttemptOutcome[] = [];
  await runRollouts({
    store,
    stopWhenIdle: true,
    agent: async () => {
      await store.startAttempt(rolloutId);
      throw Object.assign(new Error('409 Conflict'), { status: 409 });
    },
    events: { onAttemptEnd: (outcome) => endings.push(outcome) },
  });
  expect(endings).toMatchObject([{ ending: 'cancelled', failureOrigin: 'agent' }]);
  const { items } = await store.queryAttempts(rolloutId);
  expect(items.map(({ status }) => status)).toEqual(['unresponsive', 'preparing']);
});
