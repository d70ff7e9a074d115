import type { StepContext } from '@agentlightning/core/algorithm';
import { describeAlgorithmContract } from '@agentlightning/core/contracts';
import { aCollectedGroup } from '@agentlightning/core/testing';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, test } from 'vitest';
import type { AlgorithmOptions } from '../algorithm-options.ts';
import { algorithmTypes, createAlgorithm } from '../registry.ts';

/** Those that have defaults. */
const types = algorithmTypes.filter((type) => type !== 'custom' && type !== 'distillation');

for (const type of types)
  describeAlgorithmContract({ name: type, create: () => createAlgorithm({ type }), needsReward: type !== 'sft' });

const context: StepContext = { step: 1, totalSteps: 10, policyVersion: 0, seed: 1 };

/** What a recipe makes of four rollouts of a task, two of them right, and four of a task that all solve. */
function planned(options: AlgorithmOptions): { readonly loss: unknown; readonly data: readonly TrainingDatum[] } {
  const groups = [aCollectedGroup([1, 0, 0, 1]), aCollectedGroup([1, 1, 1, 1], 'gr-2')];
  const { updates } = createAlgorithm(options).planStep(groups, context);
  return {
    loss: updates[0]?.loss,
    data: updates.flatMap(({ batches }) => batches.flatMap(({ data }) => data)),
  };
}

describe('the defaults of each recipe, by the first token of the first rollout', () => {
  const common = { kl_coefficient: 0 };
  const ppo = { name: 'ppo', parameters: { ...common, clip_low: 0.2, clip_high: 0.28, dual_clip: 3 } };

  test.each([
    // 2 tokens a rollout: 16 tokens and 8 rollouts in all, 8 tokens and 4 rollouts in the group that teaches something.
    { type: 'grpo', loss: ppo, advantage: 0.866024, weight: 1 / 16 },
    { type: 'dr-grpo', loss: ppo, advantage: 0.5, weight: 1 / (8 * 1024) },
    {
      type: 'dapo',
      loss: { ...ppo, parameters: { ...ppo.parameters, dual_clip: 10 } },
      advantage: 0.866024,
      weight: 1 / 8,
    },
    {
      type: 'gspo',
      loss: { name: 'gspo', parameters: { ...common, clip_low: 3e-4, clip_high: 4e-4 } },
      advantage: 0.866024,
      weight: 1 / 16,
    },
    {
      type: 'cispo',
      loss: { name: 'cispo', parameters: { ...common, clip_low: 1, clip_high: 3 } },
      advantage: 0.866024,
      weight: 1 / 16,
    },
    { type: 'rloo', loss: { name: 'importance_sampling', parameters: common }, advantage: 2 / 3, weight: 1 / 16 },
    // Mean 0.75 over all eight, sample variance 12/4 / 15 over the 16 tokens.
    { type: 'reinforce++', loss: ppo, advantage: 0.25 / Math.sqrt(3 / 15), weight: 1 / 16 },
  ] as const)('$type', ({ type, loss, advantage, weight }) => {
    const plan = planned({ type });
    expect(plan.loss).toEqual(loss);
    expect(plan.data[0]?.advantages[0]).toBeCloseTo(advantage, 5);
    expect(plan.data[0]?.weights[0]).toBeCloseTo(weight, 7);
  });
});

test('what is given takes the place of the recipe’s default', () => {
  const plan = planned({ type: 'dapo', dropConstantGroups: false, dualClip: 0 });
  expect(plan.loss).toMatchObject({ parameters: { dual_clip: 0 } });
  expect(plan.data[0]?.weights[0]).toBeCloseTo(1 / 16, 7);
});

test('a recipe’s default that the chosen loss does not have is a mistake that is named', () => {
  expect(() => createAlgorithm({ type: 'dapo', loss: 'cispo' })).toThrow(/dualClip: the loss cispo does not have it/);
});
