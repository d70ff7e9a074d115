import { type RolloutContext, withRollout } from '@agentlightning/core';
import { aRolloutContext, callTool, MemorySpanSink, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { runTask } from '@agentlightning/runner';
import { openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import { type PlayOptions, playEnvironment } from '../src/index.ts';
import { brokenCorridor, type CorridorTask, corridor } from './corridor.ts';

type Steps = Parameters<typeof ScriptedModel.start>[0];

/** Plays with a scripted model, as a runner would. */
async function play(
  steps: Steps,
  options: PlayOptions & { readonly world?: typeof corridor; readonly context?: Partial<RolloutContext> } = {},
) {
  const { world = corridor, context, ...rest } = options;
  await using model = await ScriptedModel.start(steps);
  const sink = new MemorySpanSink();
  const endpoint = { baseUrl: model.baseUrl, model: 'any', apiKey: null };
  const agent = playEnvironment<CorridorTask>(world, rest);
  const reward = await withRollout(aRolloutContext({ sink, endpoint, ...context }), () => agent({ rooms: 3 }));
  return { reward, sink, requests: model.requests };
}

const walk = (by: number) => callTool('walk', { by });

test('the model plays to the end, and the reward is the sum of the rewards of its steps', async () => {
  const { reward, requests, sink } = await play([walk(1), walk(2)], { system: 'You walk.' });
  expect(reward).toBe(1.5);
  expect(requests[0]?.body).toMatchObject({
    messages: [
      { role: 'system', content: 'You walk.' },
      { role: 'user', content: 'Room 0 of 3.' },
    ],
    tools: [{ type: 'function', function: { name: 'walk' } }, { type: 'function' }],
  });
  expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'Room 1.' });
  expect(sink.spans.map(({ attributes }) => attributes['gen_ai.tool.name']).filter(Boolean)).toEqual(['walk', 'walk']);
});

test('each step before the last one has its own reward', async () => {
  const { sink } = await play([walk(1), walk(1), walk(1)]);
  const rewards = sink.spans.map(({ attributes }) => attributes['agentlightning.reward.0.value']);
  expect(rewards.filter((value) => value !== undefined)).toEqual([0.5, 0.5]);
});

test('an episode that reaches the limit of turns has the rewards that it has, or 0', async () => {
  const look = callTool('look', {});
  expect((await play([look, look], { maxTurns: 2 })).reward).toBe(0);
  expect((await play([walk(1), look], { maxTurns: 2 })).reward).toBe(0.5);
});

test('a message without a tool call is an action', async () => {
  expect((await play([walk(1), respondWith('I give up')])).reward).toBe(0.5);
});

test.each([
  ['an unknown tool', callTool('fly', {}), 'There is no tool "fly".'],
  ['arguments that are not JSON', callTool('walk', '{"by":'), 'The arguments of walk are not a JSON object.'],
  ['arguments that are not an object', callTool('walk', '[1]'), 'The arguments of walk are not a JSON object.'],
  ['arguments that the environment refuses', callTool('walk', { by: 9 }), 'Walk by 1 to 3 rooms.'],
])('%s of the model is an observation', async (_, step, observation) => {
  const { requests, reward } = await play([step, walk(3)]);
  expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: observation });
  expect(reward).toBe(1);
});

test.each([
  ['reset', brokenCorridor({ reset: () => Promise.reject(new Error('no disk')) }), [], 'reset: no disk'],
  ['step', brokenCorridor({ step: () => Promise.reject(new Error('it fell')) }), [walk(1)], 'tool walk: it fell'],
  [
    'a reward that is not finite',
    brokenCorridor({ step: async () => ({ observation: '', reward: Number.NaN, done: true }) }),
    [walk(1)],
    'tool walk: its reward is NaN, which is not a finite number',
  ],
])('a crash in %s fails the rollout, and is not a reward', async (_, world, steps, message) => {
  await expect(play(steps, { world })).rejects.toThrow(
    expect.objectContaining({
      code: 'ENVIRONMENT_FAILED',
      message: `[ENVIRONMENT_FAILED] Environment "corridor" failed in ${message}`,
    }),
  );
});

test('a runner records the crash as a failure of the infrastructure, without a reward', async () => {
  const store = await openStore(':memory:');
  const world = brokenCorridor({ reset: () => Promise.reject(new Error('no disk')) });
  const outcome = await runTask({ store, agent: playEnvironment(world), task: { input: { rooms: 3 } } });
  expect(outcome).toMatchObject({ ending: 'failed', reward: null, failureOrigin: 'infrastructure' });
  expect(outcome.error?.code).toBe('ENVIRONMENT_FAILED');
  await store.close();
});

test('an environment that does not respond fails the rollout at its time limit, and is closed', async () => {
  let closed = 0;
  const world = brokenCorridor({
    step: () => new Promise(() => undefined),
    close: async () => {
      closed += 1;
    },
  });
  await expect(play([walk(1)], { world, operationTimeoutMs: 20 })).rejects.toThrow(/no response within 20 ms/);
  expect(closed).toBe(1);
});

test('the end of the rollout is not a failure of the environment', async () => {
  const ended = new AbortController();
  const world = brokenCorridor({
    step: () => {
      ended.abort(new Error('cancelled'));
      return new Promise(() => undefined);
    },
  });
  await expect(play([walk(1)], { world, context: { signal: ended.signal } })).rejects.toThrow(/^cancelled$/);
});

test('a failed model call is an error with its status', async () => {
  const failure = { type: 'failure', status: 400, message: 'context too long' } as const;
  await expect(play([failure])).rejects.toThrow(expect.objectContaining({ code: 'AGENT_FAILED', status: 400 }));
});

test('without a rollout there is no model to play', async () => {
  await expect(playEnvironment(corridor)({ rooms: 3 })).rejects.toThrow(/\[OUTSIDE_ROLLOUT\]/);
});

test.each([0, 1.5, Number.NaN])('maxTurns of %s is refused', (maxTurns) => {
  expect(() => playEnvironment(corridor, { maxTurns })).toThrow(/\[CONFIG\] `maxTurns`/);
});

test('parallel rollouts have separate environments', async () => {
  const scripts = [[walk(3)], [walk(1), respondWith('Done')]];
  const rewards = await Promise.all(scripts.map(async (steps) => (await play(steps)).reward));
  expect(rewards).toEqual([1, 0.5]);
});
