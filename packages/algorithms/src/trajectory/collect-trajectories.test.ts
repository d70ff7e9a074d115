import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { aCollectedRollout } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { sft } from '../supervised/supervised.ts';
import { collectTrajectories } from './collect-trajectories.ts';

/** A rollout whose agent emitted the reward 0.7 and then failed. */
const emitted = aCollectedRollout({ rolloutId: 'ro-f', reward: 0.7 });
const failed: CollectedRollout = { ...emitted, rollout: { ...emitted.rollout, status: 'failed' } };
const groups = [{ groupId: 'g', rollouts: [{ ...failed, failedReward: -1 }, failed] }];

test('a failed rollout has a trajectory with `failedReward` as its reward, and none without it', () => {
  const { trajectories, failedRollouts } = collectTrajectories(groups);
  expect(trajectories).toMatchObject([{ rolloutId: 'ro-f', reward: -1, isFailed: true, rows: [{}] }]);
  expect(failedRollouts).toBe(2);
});

test('a failed rollout is not imitated, and counts in the mean reward', () => {
  const plan = sft().planStep(groups, { step: 1, totalSteps: 1, policyVersion: 0, seed: 1 });
  expect(plan.updates).toEqual([]);
  expect(plan.metrics).toMatchObject({ 'reward/mean': -1, 'rollouts/imitated': 0 });
});
