import { setImmediate as turn } from 'node:timers/promises';
import {
  AgentLightningError,
  currentRollout,
  definePrompt,
  emitMessage,
  emitReward,
  type RolloutConfig,
  type Span,
  type Store,
  tracer,
} from '@agentlightning/core';
import { findFinalReward } from '@agentlightning/core/spans';
import { aRewardSpan } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import type { Agent } from './agent.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import { runRollouts, runTask } from './run-rollouts.ts';
import type { RunnerEvents, RunnerOptions } from './runner-options.ts';

/** Runs the agent on one rollout for each input. */
async function runAll(
  inputs: readonly number[],
  agent: Agent<number>,
  options: Partial<RunnerOptions<number>> & { readonly config?: Partial<RolloutConfig> } = {},
): Promise<CompletedRun> {
  const store = await openStore(':memory:');
  const { config = {}, events = {}, ...rest } = options;
  const rollouts = await store.enqueueRollouts(inputs.map((input) => ({ input, config, mode: 'train' })));
  const outcomes: AttemptOutcome[] = [];
  const errors: AgentLightningError[] = [];
  const summary = await runRollouts({
    store,
    agent,
    stopWhenIdle: true,
    events: { onAttemptEnd: (outcome) => outcomes.push(outcome), onError: (error) => errors.push(error), ...events },
    ...rest,
  });
  const statuses = await Promise.all(rollouts.map(async ({ rolloutId }) => (await store.getRollout(rolloutId)).status));
  const ids = rollouts.map((rollout) => rollout.rolloutId);
  return { store, ids, outcomes, errors, summary, statuses, [Symbol.asyncDispose]: () => store.close() };
}

interface CompletedRun extends AsyncDisposable {
  readonly store: Store;
  readonly ids: readonly string[];
  readonly outcomes: readonly AttemptOutcome[];
  readonly errors: readonly AgentLightningError[];
  readonly summary: Awaited<ReturnType<typeof runRollouts>>;
  readonly statuses: readonly string[];
}

async function spansOf({ store, ids }: Pick<CompletedRun, 'store' | 'ids'>, index = 0): Promise<readonly Span[]> {
  return (await store.querySpans({ rolloutId: ids[index] ?? '' })).items;
}

test('the number that an agent returns is the reward of its rollout', async () => {
  await using done = await runAll([1, 2, 3], (task) => task / 10, { concurrency: 2 });
  expect(done.summary).toEqual({ succeeded: 3, failed: 0, timeout: 0, cancelled: 0, returned: 0 });
  expect(done.statuses).toEqual(['succeeded', 'succeeded', 'succeeded']);
  expect(done.outcomes.map((outcome) => outcome.reward).sort()).toEqual([0.1, 0.2, 0.3]);
  for (const [index, expected] of [0.1, 0.2, 0.3].entries()) {
    expect(findFinalReward(await spansOf(done, index))?.rewards[0]).toEqual({ name: 'primary', value: expected });
  }
});

test('all spans of an agent are descendants of the root span of its attempt', async () => {
  await using done = await runAll([1], () => {
    emitMessage('hello');
    tracer.withSpan('step', () => {});
    return { primary: 1, speed: 2 };
  });
  const spans = await spansOf(done);
  const root = spans.find((span) => span.name === 'agentlightning.rollout');
  expect(root).toMatchObject({ parentId: null, status: { code: 'UNSET' } });
  expect(root?.attributes).toMatchObject({
    'agentlightning.rollout_id': done.ids[0],
    'agentlightning.attempt_number': 1,
    'agentlightning.mode': 'train',
  });
  const below = spans.filter((span) => span !== root);
  expect(below.map((span) => span.name)).toEqual(['agentlightning.message', 'step', 'agentlightning.annotation']);
  expect(new Set(below.map((span) => span.parentId))).toEqual(new Set([root?.spanId]));
  expect(new Set(spans.map((span) => span.traceId)).size).toBe(1);
});

test('spans are in the store before the rollout is finished', async () => {
  const store = await openStore(':memory:');
  const [rollout] = await store.enqueueRollouts([{ input: 1 }]);
  const rolloutId = rollout?.rolloutId ?? '';
  const runner = runRollouts({ store, agent: () => 1, stopWhenIdle: true });
  await store.waitForRollouts([rolloutId]);
  expect((await store.querySpans({ rolloutId })).total).toBe(2);
  await runner;
  expect((await store.querySpans({ rolloutId })).total).toBe(2);
  await store.close();
});

test('an error of an agent fails only its attempt, with the exception in the trace', async () => {
  await using done = await runAll([1, 2], (task) => {
    if (task === 1) throw new RangeError('too hard');
    return 1;
  });
  expect(done.statuses).toEqual(['failed', 'succeeded']);
  const failed = done.outcomes.find((outcome) => outcome.ending === 'failed');
  expect(failed?.error).toMatchObject({ code: 'AGENT_FAILED', cause: expect.any(RangeError) });
  const spans = await spansOf(done);
  expect(spans.find((span) => span.name === 'agentlightning.exception')?.attributes).toMatchObject({
    'exception.type': 'RangeError',
    'exception.message': 'too hard',
  });
  expect(spans.find((span) => span.name === 'agentlightning.rollout')?.status.code).toBe('ERROR');
  const attempt = await done.store.getLatestAttempt(done.ids[0] ?? '');
  expect(attempt).toMatchObject({
    status: 'failed',
    metadata: { error: { code: 'AGENT_FAILED', message: expect.stringContaining('RangeError: too hard') } },
  });
});

test.each([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['a string', 'good'],
  ['dimensions without a primary one', { a: 1, b: 2 }],
])('%s is an invalid reward and fails the attempt', async (_name, result) => {
  await using done = await runAll([1], () => result as never);
  expect(done.statuses).toEqual(['failed']);
  expect(done.outcomes[0]?.error?.code).toBe('INVALID_REWARD');
  expect((await done.store.getLatestAttempt(done.ids[0] ?? ''))?.metadata).toMatchObject({
    error: { code: 'INVALID_REWARD' },
  });
});

test('primaryReward selects the primary dimension', async () => {
  await using done = await runAll([1], () => ({ a: 1, b: 2 }), { primaryReward: 'b' });
  expect(done.outcomes[0]).toMatchObject({ ending: 'succeeded', reward: 2 });
});

test('an agent without a reward succeeds, is marked and is reported', async () => {
  const missing: string[] = [];
  const events: RunnerEvents = { onMissingReward: ({ rolloutId }) => missing.push(rolloutId) };
  await using done = await runAll([1], () => {}, { events });
  expect(done.statuses).toEqual(['succeeded']);
  expect(missing).toEqual(done.ids);
  const spans = await spansOf(done);
  expect(findFinalReward(spans)).toBeNull();
  expect(spans.some((span) => 'agentlightning.warning' in span.attributes)).toBe(true);
});

test('a reward that the agent emits or another process records is not missing', async () => {
  const missing: string[] = [];
  const events: RunnerEvents = { onMissingReward: ({ rolloutId }) => missing.push(rolloutId) };
  await using emitted = await runAll([1], () => void emitReward(0.5), { events });
  const store = await openStore(':memory:');
  const outcome = await runTask({
    store,
    events,
    task: { input: 1 },
    agent: async (_task, { rolloutId, attemptId }) => {
      await store.appendSpans([aRewardSpan(1, { rolloutId, attemptId })]);
    },
  });
  expect(outcome.ending).toBe('succeeded');
  expect(emitted.outcomes[0]?.reward).toBe(0.5);
  expect(missing).toEqual([]);
  await store.close();
});

test('a failed attempt is retried up to the configured limit, and the last one decides', async () => {
  const seen: number[] = [];
  await using done = await runAll(
    [1],
    (_task, { attemptNumber }) => {
      seen.push(attemptNumber);
      if (attemptNumber < 3) throw new TypeError('not yet');
      return 1;
    },
    { config: { maxAttempts: 3, retryCondition: ['failed'] } },
  );
  expect(seen).toEqual([1, 2, 3]);
  expect(done.statuses).toEqual(['succeeded']);
  expect(done.summary).toMatchObject({ succeeded: 1, failed: 2 });
});

test('32 concurrent rollouts each have their own context', async () => {
  let running = 0;
  let most = 0;
  let meet = (): void => {};
  const crowd = new Promise<void>((resolve) => {
    meet = resolve;
  });
  await using done = await runAll(
    Array.from({ length: 96 }, (_, index) => index),
    async (task, { rolloutId }) => {
      running += 1;
      most = Math.max(most, running);
      // A barrier: the test hangs with fewer than 32 slots.
      if (running === 32) meet();
      await crowd;
      for (let step = 0; step < 3; step += 1) {
        await turn();
        expect(currentRollout()?.rolloutId).toBe(rolloutId);
        emitMessage(`${task}`);
      }
      running -= 1;
      return task;
    },
    { concurrency: 32 },
  );
  expect(done.summary.succeeded).toBe(96);
  expect(most).toBe(32);
  for (const index of done.ids.keys()) {
    const bodies = (await spansOf(done, index)).map((span) => span.attributes['agentlightning.message.body']);
    expect(bodies.filter((body) => body !== undefined)).toEqual(Array(3).fill(`${index}`));
  }
});

test('a task that fails to parse fails its attempt before the agent starts', async () => {
  let isCalled = false;
  const agent: Agent<number> = () => {
    isCalled = true;
  };
  await using done = await runAll([1], agent, {
    parseTask: (input) => {
      throw new AgentLightningError({ code: 'VALIDATION', message: `task ${String(input)} has no question` });
    },
  });
  expect(isCalled).toBe(false);
  expect(done.outcomes[0]?.error?.message).toContain('task 1 has no question');
});

test('an agent receives the prompts and the endpoint of its attempt', async () => {
  const store = await openStore(':memory:');
  await store.addResources({
    policy: {
      resourceType: 'proxy_llm',
      endpoint: 'http://gateway:4750/v1',
      model: 'policy',
      apiKey: 'key',
      samplingParameters: {},
    },
    prompt: { resourceType: 'prompt_template', template: 'Answer {question}', engine: 'f-string' },
  });
  const outcome = await runTask({
    store,
    task: { input: 1 },
    agent: (_task, { resources, endpoint, rolloutId, attemptId }) => {
      const baseUrl = `http://gateway:4750/rollout/${rolloutId}/attempt/${attemptId}/v1`;
      expect(endpoint).toEqual({ baseUrl, model: 'policy', apiKey: 'key' });
      expect(currentRollout()?.endpoint).toEqual(endpoint);
      expect(resources.policy).toMatchObject({ resourceType: 'llm', endpoint: baseUrl });
      expect(resources.prompt).toMatchObject({ template: 'Answer {question}' });
      expect(definePrompt('prompt', 'As written: {question}').format({ question: 'this' })).toBe('Answer this');
      expect(definePrompt('policy', 'No endpoint is a prompt.').format()).toBe('No endpoint is a prompt.');
      return 1;
    },
  });
  expect(outcome).toMatchObject({ ending: 'succeeded', reward: 1, error: null });
  const missing = await runTask({ store, task: { input: 1 }, agent: () => 1, endpointResource: 'other' });
  expect(missing.error?.message).toContain('proxy_llm resource other of rollout');
  await store.close();
});

test('hooks run within the rollout, and their errors are ignored', async () => {
  await using done = await runAll([1], () => {}, {
    hooks: {
      onRolloutStart: () => {
        emitMessage('before');
        throw new TypeError('broken hook');
      },
      onRolloutEnd: ({ error }) => {
        expect(error).toBeNull();
        emitReward(0.75);
      },
    },
  });
  expect(done.outcomes[0]).toMatchObject({ ending: 'succeeded', reward: 0.75 });
  expect(done.errors.map((error) => error.message)).toEqual([
    expect.stringMatching(/^\[INTERNAL\] Hook onRolloutStart of rollout .* failed: broken hook$/),
  ]);
  expect((await spansOf(done)).map((span) => span.name)).toContain('agentlightning.message');
});

test('errors of callbacks are ignored', async () => {
  const broken = (): never => {
    throw new TypeError('broken callback');
  };
  await using done = await runAll([1], () => {}, {
    events: { onAttemptStart: broken, onAttemptEnd: broken, onMissingReward: broken, onError: broken },
  });
  expect(done.summary.succeeded).toBe(1);
});

test('rollouts of other runs are not claimed', async () => {
  const store = await openStore(':memory:');
  for (const runId of ['run-a', 'run-b']) await store.createRun({ runId, name: runId, config: {} });
  await store.enqueueRollouts([
    { input: 1, runId: 'run-a' },
    { input: 2, runId: 'run-b' },
  ]);
  const seen: number[] = [];
  await runRollouts<number>({ store, agent: (task) => void seen.push(task), runId: 'run-b', stopWhenIdle: true });
  expect(seen).toEqual([2]);
  await store.close();
});

test('a concurrency that is not a whole number of at least 1 is rejected', async () => {
  const store = await openStore(':memory:');
  for (const concurrency of [0, -1, 1.5, Number.NaN]) {
    await expect(runRollouts({ store, agent: () => 1, concurrency })).rejects.toThrow('concurrency: must be a whole');
  }
  await store.close();
});
