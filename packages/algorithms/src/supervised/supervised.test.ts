import type { StepContext, StepPlan } from '@agentlightning/core/algorithm';
import { aCollectedGroup, aCollectedRollout } from '@agentlightning/core/testing';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { expect, test } from 'vitest';
import { rejectionSampling } from '../recipes/policy-gradient-recipes.ts';
import { sft } from './supervised.ts';

const context: StepContext = { step: 1, totalSteps: 10, policyVersion: 0, seed: 1 };
const dataOf = (plan: StepPlan): readonly TrainingDatum[] =>
  plan.updates.flatMap(({ batches }) => batches.flatMap(({ data }) => data));
const imitated = (plan: StepPlan): readonly string[] => dataOf(plan).map(({ rolloutId }) => rolloutId);

const groups = [aCollectedGroup([0.2, 1, 1, 0.9], 'a'), aCollectedGroup([0.1, 0.3], 'b')];

test('every rollout is imitated, by cross-entropy, each sampled token the same', () => {
  const plan = sft().planStep(groups, context);
  expect(plan.updates[0]?.loss).toEqual({ name: 'cross_entropy', parameters: {} });
  expect(imitated(plan)).toHaveLength(6);
  for (const { weights } of dataOf(plan)) expect([...weights]).toEqual([1 / 12, 1 / 12].map(Math.fround));
});

test('only those with enough reward are, where that is asked for, and never one without a reward', () => {
  const unjudged = { groupId: 'c', rollouts: [aCollectedRollout({ rolloutId: 'ro-c', reward: null })] };
  const plan = sft({ minReward: 0.9 }).planStep([...groups, unjudged], context);
  expect(imitated(plan)).toEqual(['ro-a-2', 'ro-a-3', 'ro-a-4']);
  expect(plan.metrics['rollouts/imitated']).toBe(3);
});

test('rejection sampling takes the best of each task, the first of equals', () => {
  expect(imitated(rejectionSampling().planStep(groups, context))).toEqual(['ro-a-2', 'ro-b-2']);
  expect(imitated(rejectionSampling({ keepBest: 2 }).planStep(groups, context))).toEqual([
    'ro-a-2',
    'ro-a-3',
    'ro-b-2',
    'ro-b-1',
  ]);
  expect(imitated(rejectionSampling({ minReward: 0.5 }).planStep(groups, context))).toEqual(['ro-a-2']);
});

test('when none is good enough there is no update', () => {
  expect(rejectionSampling({ minReward: 2 }).planStep(groups, context).updates).toEqual([]);
});

test('options that imitation does not have are refused', () => {
  expect(() => sft(JSON.parse('{"clipLow":0.2}'))).toThrow(/algorithm sft: there is no option "clipLow"/);
});
