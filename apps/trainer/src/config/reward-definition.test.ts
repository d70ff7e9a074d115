import { aRewardSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { hasLearningSignal } from '../collection/learning-signal.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { rolloutReward } from '../results/rollout-reward.ts';
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
  const { reward, policies } = resolved({ rewards: { failed: -1, missing: 0.5 } });
  expect(reward).toMatchObject({ failedReward: -1, missingReward: 0.5 });
  expect(policies[0]?.algorithm).toMatchObject({ missingReward: 0.5 });
});

test('the range of a weighted reward follows from the ranges of its parts', () => {
  const rewards = { parts: { correct: { range: [0, 1] }, primary: { range: [0, 2] } } };
  expect(resolved({ ...weighted, rewards }).reward.range).toEqual([-1, 1]);
  expect(resolved({ rewards: { range: [0, 5] } }).reward.range).toEqual([0, 5]);
});

test('policies with different rewards have the primary one in common', () => {
  const own = (name: string) => ({ algorithm: { type: 'grpo', rewardName: name } });
  expect(resolved({ policies: { writer: own('style'), critic: own('style') } }).reward.choice).toEqual({
    rewardName: 'style',
  });
  expect(resolved({ policies: { writer: own('style'), critic: own('truth') } }).reward.choice).toEqual({});
});
