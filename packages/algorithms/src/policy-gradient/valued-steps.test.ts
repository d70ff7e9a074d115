import type { Algorithm } from '@agentlightning/core';
import type { CollectedGroup, StepContext, StepPlan } from '@agentlightning/core/algorithm';
import { describeAlgorithmContract } from '@agentlightning/core/contracts';
import { aCollectedGroup, aCollectedRollout } from '@agentlightning/core/testing';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, test } from 'vitest';
import { grpo, ppo } from '../recipes/policy-gradient-recipes.ts';
import type { PolicyGradientOptions } from './policy-gradient-options.ts';

describeAlgorithmContract({
  name: 'ppo with everything switched on',
  create: () =>
    ppo({
      advantage: { type: 'gae', discount: 0.99, lambda: 0.9 },
      creditAssignment: { type: 'per-turn' },
      samplerCorrection: { type: 'truncate' },
      klCoefficient: 0.1,
      klPlacement: 'reward',
      entropyCoefficient: 0.01,
      maxTokens: 5,
      tooLong: 'truncate',
      valueClip: 0,
      groupSize: 4,
    }),
});

const context: StepContext = { step: 1, totalSteps: 10, policyVersion: 0, seed: 1 };
const plain = { advantage: { type: 'gae', whiten: false }, epochs: 1, minibatches: 1 } as const;
const dataOf = (plan: StepPlan): readonly TrainingDatum[] =>
  plan.updates.flatMap(({ batches }) => batches.flatMap(({ data }) => data));

/** The plan when the value head says this before every token, and the policy in training is so much surer than the sampler. */
function planWith(
  algorithm: Algorithm,
  groups: readonly CollectedGroup[],
  { value, surer = 0 }: { readonly value: number; readonly surer?: number },
): StepPlan {
  const request = algorithm.scoring?.(groups, context);
  if (request === null || request === undefined) throw new Error('the algorithm asks for values');
  const answers = {
    critic: request.data.map(({ samplingLogprobs }) => samplingLogprobs.map(() => value)),
    current: request.data.map(({ samplingLogprobs }) => samplingLogprobs.map((own) => own + surer)),
  };
  return algorithm.planStep(groups, { ...context, scores: answers });
}

test('a step asks the value head, and teaches it with the policy, number by number', () => {
  const algorithm = ppo(plain);
  const groups = [aCollectedGroup([1]), aCollectedGroup([0], 'gr-2')];
  expect(algorithm.needsValueHead).toBe(true);
  expect(algorithm.scoring?.(groups, context)?.policies).toEqual(['critic']);
  const plan = planWith(algorithm, groups, { value: 0.25 });
  expect(plan.updates).toHaveLength(1);
  expect(plan.updates[0]?.loss).toEqual({
    name: 'ppo',
    parameters: {
      clip_low: 0.2,
      clip_high: 0.2,
      dual_clip: 3,
      kl_coefficient: 0,
      value_coefficient: 0.5,
      value_clip: 0.2,
    },
  });
  expect(
    dataOf(plan).map(({ advantages, weights, valueTargets, samplingValues }) => ({
      advantages: [...advantages],
      weights: [...weights],
      valueTargets: [...(valueTargets ?? [])],
      samplingValues: [...(samplingValues ?? [])],
    })),
  ).toEqual(
    [1, 0].map((reward) => ({
      advantages: [reward - 0.25, reward - 0.25],
      weights: [0.25, 0.25],
      valueTargets: [reward, reward],
      samplingValues: [0.25, 0.25],
    })),
  );
});

test('what was foreseen is still sent: the value head learns from it', () => {
  const plan = planWith(ppo(plain), [aCollectedGroup([1])], { value: 1 });
  expect(dataOf(plan).map(({ advantages }) => [...advantages])).toEqual([[0, 0]]);
});

test('an overlong rollout loses reward before the value head is asked how much was foreseen', () => {
  const algorithm = ppo({ ...plain, overlongPenalty: { maxTokens: 10, bufferTokens: 4 } });
  const rollout = aCollectedRollout({ reward: 1, calls: [{ responseTokenIds: Array.from({ length: 8 }, () => 10) }] });
  const plan = planWith(algorithm, [{ groupId: 'gr-1', rollouts: [rollout] }], { value: 0.25 });
  // 1 less a penalty of 0.5, and 0.25 was foreseen.
  expect(dataOf(plan).map(({ advantages }) => [...advantages])).toEqual([Array.from({ length: 8 }, () => 0.25)]);
  expect(plan.metrics['reward/mean']).toBe(1);
});

test('an algorithm that compares rollouts needs no value head, and sends nothing for one', () => {
  expect(grpo().needsValueHead).toBeUndefined();
  const [datum] = dataOf(grpo().planStep([aCollectedGroup([1, 0])], context));
  expect(datum).not.toHaveProperty('valueTargets');
});

test('a correction for the sampler weighs what the value head learns too, and the token that a cut left over has no weight', () => {
  const algorithm = ppo({ ...plain, samplerCorrection: { type: 'truncate' }, maxTokens: 5, tooLong: 'truncate' });
  const rollout = aCollectedRollout({
    reward: 1,
    calls: [{ promptTokenIds: [1, 2], responseTokenIds: [10, 11, 12, 13] }],
  });
  const groups = [{ groupId: 'gr-1', rollouts: [rollout] }];
  const [datum] = dataOf(planWith(algorithm, groups, { value: 0.5, surer: Math.log(1.5) }));
  // Three of four tokens are left; the last one only bootstraps the second.
  expect([...(datum?.weights ?? [])].map((weight) => weight * 3)).toEqual(
    [1.5, 1.5, 0].map((value) => expect.closeTo(value, 5)),
  );
  expect([...(datum?.advantages ?? [])]).toEqual([0, 0, 0]);
});

describe('settings that make no sense together are refused', () => {
  test.each<[PolicyGradientOptions, RegExp]>([
    [
      { creditAssignment: { type: 'by-agent' } },
      /creditAssignment: with the advantage gae, which spreads rewards itself/,
    ],
    [{ creditAssignment: { type: 'per-turn', discount: 0.5 } }, /creditAssignment: with the advantage gae/],
    [{ dropConstantGroups: true }, /dropConstantGroups: the advantage gae compares no groups/],
    [{ advantage: { type: 'gae', lambda: 1.5 } }, /advantage/],
    [{ advantage: { type: 'grpo' }, groupSize: 2, valueClip: 1 }, /valueClip: there is a value head with .*gae.* only/],
    [{ advantage: { type: 'grpo' } }, /groupSize: must be >=2/],
  ])('%j', (options, message) => {
    expect(() => ppo(options)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(message) }),
    );
  });
});

test('values that were not asked for are an error that says so', () => {
  expect(() => ppo().planStep([aCollectedGroup([1])], context)).toThrow(
    /ppo needs the values of the critic, but received none/,
  );
});
