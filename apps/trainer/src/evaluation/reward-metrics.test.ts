import { aRewardSpan, aRollout } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { assumedRangeText } from '../run/stored-evaluation.ts';
import { rewardMetrics } from './reward-metrics.ts';

type Rewards = Parameters<typeof aRewardSpan>[0];

const finished = (rewards: Rewards): FinishedRollout => ({
  rollout: aRollout({ status: 'succeeded' }),
  attemptId: 'at-1',
  spans: [aRewardSpan(rewards)],
  failure: null,
  failureCause: null,
});

test('each dimension has its mean, its spread and its share of the weighted reward', () => {
  const collected = [finished({ primary: 1, brief: 0.5 }), finished({ primary: 0, brief: 0.5 })];
  const metrics = rewardMetrics(collected, { range: null, parts: {} }, { primary: 1, brief: -1 });
  expect(metrics).toEqual({
    'reward/primary/mean': 0.5,
    'reward/primary/std': 0.5,
    'reward/primary/share': 0.5,
    'reward/brief/mean': 0.5,
    'reward/brief/std': 0,
    'reward/brief/share': 0.5,
  });
});

test('values outside of the range of the reward or of a part are counted', () => {
  const collected = [finished({ primary: 2, brief: -3 }), finished({ primary: 1, brief: 0 })];
  const parts = { brief: { range: [-1, 0] as const, weight: null } };
  expect(rewardMetrics(collected, { range: [0, 1], parts }, null)).toMatchObject({ 'reward/out_of_range': 2 });
});

test('a dimension with the name of an inherited property has no weight', () => {
  const collected = [finished({ primary: 1, constructor: 0.5 })];
  const metrics = rewardMetrics(collected, { range: null, parts: {} }, { primary: 1 });
  expect(metrics).toMatchObject({ 'reward/primary/share': 1, 'reward/constructor/share': 0 });
});

test('one dimension has no metrics besides those of the reward', () => {
  expect(rewardMetrics([finished(1)], { range: null, parts: {} }, null)).toEqual({});
});

test('equal rewards outside of 0 to 1 have an interval of an assumed range', () => {
  const measured = (rewards: readonly number[]) => ({ rewards, rolloutIds: [], failed: 0, rolloutsPerTask: 1 });
  expect(assumedRangeText(measured([100, 100]), null)).toContain('assumes the range 0 to 100');
  expect(assumedRangeText(measured([-5, -5]), null)).toContain('assumes the range -5 to 1');
  expect(assumedRangeText(measured([100, 100]), [0, 200])).toBeNull();
  expect(assumedRangeText(measured([100, 50]), null)).toBeNull();
  expect(assumedRangeText(measured([1, 1]), null)).toBeNull();
});
