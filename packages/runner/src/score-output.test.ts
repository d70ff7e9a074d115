import { currentRollout, emitMessage, type Store } from '@agentlightning/core';
import { findScoredOutput } from '@agentlightning/core/internal';
import { findRewards } from '@agentlightning/core/spans';
import { ManualClock } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import { runRollouts } from './run-rollouts.ts';
import type { RunnerOptions } from './runner-options.ts';
import { type OutputScoring, scoreOutput } from './score-output.ts';

const input = { task: 'three', output: '3', rolloutId: 'r', mode: null, spans: () => Promise.resolve([]) };

/** Runs an agent that returns its task in capitals, and scores it. */
async function runScored(reward: OutputScoring, options: Partial<RunnerOptions<string>> = {}) {
  const store: Store = await openStore(':memory:');
  const [rollout] = await store.enqueueRollouts([{ input: 'three', mode: 'test' }]);
  const errors: string[] = [];
  const rolloutId = rollout?.rolloutId ?? '';
  const { succeeded } = await runRollouts<string>({
    store,
    agent: (task) => {
      emitMessage('done');
      return task.toUpperCase();
    },
    reward,
    stopWhenIdle: true,
    events: { onError: (error) => errors.push(error.message) },
    ...options,
  });
  const spans = (await store.querySpans({ rolloutId })).items;
  const { status } = await store.getRollout(rolloutId);
  await store.close();
  return { succeeded, status, errors, rewards: findRewards(spans).at(-1)?.rewards, scored: findScoredOutput(spans) };
}

test('a function scores what the agent returns, outside of the rollout, with its spans', async () => {
  const { rewards, scored } = await runScored(async ({ task, output, mode, spans }) => {
    expect(currentRollout()).toBe(null);
    expect([task, mode]).toEqual(['three', 'test']);
    expect((await spans()).map(({ name }) => name)).toContain('agentlightning.message');
    return { score: output === 'THREE', reason: 'capitals' };
  });
  expect(rewards).toEqual([{ name: 'primary', value: 1 }]);
  expect(scored).toEqual({ output: 'THREE', scores: { primary: { score: 1, reason: 'capitals' } } });
});

test('parts are recorded by name, the primary one first, and groups are left to the trainer', async () => {
  const parts = { tone: { score: () => 0.25 }, correct: { score: () => true }, rank: { scoreGroup: () => [1] } };
  const { rewards, scored } = await runScored({ parts, primary: 'correct' });
  expect(rewards).toEqual([
    { name: 'correct', value: 1 },
    { name: 'tone', value: 0.25 },
  ]);
  expect(Object.keys(scored?.scores ?? {})).toEqual(['tone', 'correct']);
});

test('a reward without a primary score is missing, and the rollout succeeds with its other scores', async () => {
  const parts = { correct: { score: () => Promise.reject(new Error('no key')) }, tone: { score: () => 0.5 } };
  const { succeeded, status, rewards, scored, errors } = await runScored({ parts });
  expect([succeeded, status, rewards]).toEqual([1, 'succeeded', undefined]);
  expect(scored?.scores).toMatchObject({ correct: { score: null }, tone: { score: 0.5 } });
  expect(scored?.scores['correct']?.reason).toContain('no key');
  expect(errors).toEqual([expect.stringContaining('Part "correct" of the reward')]);
});

test.each([
  ['text', () => 'yes' as unknown as number, '[INVALID_REWARD]'],
  ['not a number', () => Number.NaN, '[INVALID_REWARD]'],
  ['a score out of its range', () => 2, 'outside of its range 0 to 1'],
  ['an object without a score', () => ({}) as unknown as number, 'no verdict'],
  ['null', () => null, 'no verdict'],
])('%s leaves a part missing, with its reason', async (_, score, reason) => {
  const scores = await scoreOutput({ parts: { it: { score, range: [0, 1] } } }, input, { clock: new ManualClock() });
  expect(scores['it']).toEqual({ score: null, reason: expect.stringContaining(reason) });
});

test('a scorer that never resolves leaves its part missing after its time, and its signal aborts', async () => {
  const clock = new ManualClock();
  let signal: AbortSignal | null = null;
  const parts = {
    stuck: {
      score: (given: { readonly signal: AbortSignal }) => {
        signal = given.signal;
        return new Promise<number>(() => {});
      },
    },
    quick: { score: () => 1 },
  };
  const scoring = scoreOutput({ parts }, input, { clock, timeoutMs: 500 });
  await clock.advance(500);
  expect(await scoring).toEqual({
    stuck: { score: null, reason: expect.stringContaining('did not finish within 500 ms') },
    quick: { score: 1, reason: null },
  });
  expect((signal as AbortSignal | null)?.aborted).toBe(true);
});

test('a function that names several dimensions needs a primary one', async () => {
  const named = await scoreOutput(() => ({ primary: 1, tone: 0.5 }), input, { clock: new ManualClock() });
  expect(named).toEqual({ primary: { score: 1, reason: null }, tone: { score: 0.5, reason: null } });
  const unnamed = await scoreOutput(() => ({ a: 1, b: 0.5 }), input, { clock: new ManualClock() });
  expect(unnamed['primary']).toEqual({
    score: null,
    reason: expect.stringContaining('none is named as the primary one'),
  });
});

test('an output without a JSON form is scored, and not recorded', async () => {
  const { rewards, scored } = await runScored(() => 1, { agent: () => 1n });
  expect(rewards).toEqual([{ name: 'primary', value: 1 }]);
  expect(scored?.output).toBe(undefined);
});
