import { aRewardSpan } from '@agentlightning/core/testing';
import { exact, rewards } from '@agentlightning/rewards';
import { expect, expectTypeOf, test } from 'vitest';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { hasLearningSignal, rolloutReward } from '../results/rollout-reward.ts';
import { defineConfig } from './define-config.ts';
import { resolveConfig } from './resolve-config.ts';

const base = { agent: () => 0, tasks: { train: [{}], test: [{}] } };

const resolved = (changes: object) => resolveConfig({ ...base, ...changes }, '/');

const weighted = { algorithm: { type: 'grpo', rewardWeights: { correct: 1, primary: -0.5 } } };

/** A rollout with these dimensions. */
const finished = (parts: Readonly<Record<string, number>>): FinishedRollout => ({
  rollout: { rolloutId: 'ro-1', status: 'succeeded' } as FinishedRollout['rollout'],
  attemptId: 'at-1',
  spans: [aRewardSpan(parts)],
  failure: null,
  failureCause: null,
});

test('updates, evaluations and refills have the reward of the weights', () => {
  const { reward } = resolved(weighted);
  expect(rolloutReward(finished({ primary: 1, correct: 1 }), reward)).toBe(0.5);
  expect(rolloutReward(finished({ primary: 1 }), reward)).toBeNull();
  const equalPrimary = [finished({ primary: 1, correct: 0 }), finished({ primary: 1, correct: 1 })];
  expect(hasLearningSignal(equalPrimary, reward)).toBe(true);
  const equalSum = [finished({ primary: 0, correct: 0 }), finished({ primary: 1, correct: 0.5 })];
  expect(hasLearningSignal(equalSum, reward)).toBe(false);
});

test('algorithm, training and evaluations have the same substitutes of rewards', () => {
  const { reward, policies } = resolved({ reward: { failed: -1, missing: 0.5 } });
  expect(reward).toMatchObject({ failedReward: -1, missingReward: 0.5 });
  expect(policies[0]?.algorithm).toMatchObject({ missingReward: 0.5 });
});

test('the parts of a reward that compare rollouts with each other are known, if they count', () => {
  const ranking = { scoreGroup: () => [], weight: 1 };
  const solved = { score: () => 1 };
  expect(resolved({ reward: { parts: { ranking } } }).reward.relativeParts).toEqual(['ranking']);
  const both = { parts: { ranking: { ...ranking, weight: 0.5 }, solved: { ...solved, weight: 1 } } };
  expect(resolved({ reward: both }).reward.relativeParts).toEqual(['ranking']);
  const observed = { parts: { ranking: { ...ranking, weight: 0 }, solved: { ...solved, weight: 1 } } };
  expect(resolved({ reward: observed }).reward.relativeParts).toEqual([]);
});

test('the range of a weighted reward follows from the ranges of its parts', () => {
  const reward = { parts: { correct: { range: [0, 1] }, primary: { range: [0, 2] } } };
  expect(resolved({ ...weighted, reward }).reward.range).toEqual([-1, 1]);
  expect(resolved({ reward: { range: [0, 5] } }).reward.range).toEqual([0, 5]);
});

test('the weights of computed parts are those of updates and evaluations, unless the algorithm has its own', () => {
  const score = (): number => 1;
  const parts = {
    correct: { score, range: [0, 1] },
    tone: { score, weight: 0.3, range: [-1, 1] },
    seen: { score, weight: 0 },
  };
  const { reward, policies } = resolved({ reward: { parts } });
  expect(reward).toMatchObject({ choice: { rewardWeights: { correct: 1, tone: 0.3 } }, range: [-0.3, 1.3] });
  expect(policies[0]?.algorithm).toMatchObject({ rewardWeights: { correct: 1, tone: 0.3 } });
  expect(resolved({ reward: { parts }, ...weighted }).reward.choice).toEqual({
    rewardWeights: { correct: 1, primary: -0.5 },
  });
  const primaryOnly = resolved({
    reward: { parts: { correct: { score, range: [0, 2] }, seen: { score, weight: 0 } } },
  });
  expect(primaryOnly.reward).toMatchObject({ choice: {}, range: [0, 2] });
  expect(resolved({ reward: score }).rewards.scoring).toBe(score);
});

test.each([
  [{ parts: { a: { score: 1 } } }, /reward\.parts\.a\.score/],
  [{ parts: { a: { score: Math.random, scoreGroup: () => [1] } } }, /not both/],
  [{ parts: { a: { score: Math.random } }, primary: 'b' }, /reward\.primary: must be the name of a part/],
  ['exact', /reward/],
])('an invalid reward is an error that names its key: %j', (reward, message) => {
  expect(() => resolved({ reward })).toThrow(message);
});

test('policies with different rewards have the primary one in common', () => {
  const own = (name: string) => ({ algorithm: { type: 'grpo', rewardName: name } });
  expect(resolved({ policies: { writer: own('style'), critic: own('style') } }).reward.choice).toEqual({
    rewardName: 'style',
  });
  expect(resolved({ policies: { writer: own('style'), critic: own('truth') } }).reward.choice).toEqual({});
});

test("the tasks of the reward's parts have the type of the agent's task", () => {
  interface Task {
    readonly answer: string;
  }
  const { reward } = defineConfig({
    agent: (task: Task) => task.answer,
    tasks: { train: [], test: [] },
    reward: rewards({
      correct: exact((task) => {
        expectTypeOf(task).toEqualTypeOf<Task>();
        return task.answer;
      }),
    }),
  });
  expect(reward).toMatchObject({ parts: { correct: { range: [0, 1] } } });
});
