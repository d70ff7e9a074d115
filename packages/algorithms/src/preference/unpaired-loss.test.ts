import type { StepContext, StepPlan } from '@agentlightning/core/algorithm';
import { aCollectedGroup } from '@agentlightning/core/testing';
import { describe, expect, test } from 'vitest';
import { kto } from '../recipes/kto.ts';
import { correctionFactors, samplerRatios } from '../sampler-correction.ts';
import { unpairedLosses } from './unpaired-loss.ts';

/**
 * The loss of `KTOTrainer` in TRL 1.16.0 (`_compute_loss`, `loss_type` kto) in PyTorch 2.13.0, in double precision; gradients by
 * automatic differentiation of the mean loss by the log-probabilities of the policy.
 */
const trl = {
  policy: [-12.5, -8.25, -20, -3.5],
  reference: [-13, -8, -19, -4.75],
  isDesirable: [true, false, true, false],
  mismatched: { policy: [-30, -28.5, -31, -25], reference: [-31, -28, -32.5, -25.6] },
  kl: 0.65,
  cases: [
    {
      options: { beta: 0.1 },
      losses: [0.503749929689, 0.477515175208, 0.54115666815, 0.514995501619],
      gradient: [-0.00624964845068, 0.00623736081635, -0.00620765321667, 0.00624437837328],
    },
    {
      options: { beta: 0.5, desirableWeight: 1.33, undesirableWeight: 0.75 },
      losses: [1.33 * 0.518741215879, 0.75 * 0.389360766051, 1.33 * 0.695296669348, 0.75 * 0.574442516812],
      gradient: [-0.0415041074851, 0.0222899024917, -0.0352215938191, 0.022917966721],
    },
  ],
} as const;

const difference = (one: readonly number[], other: readonly number[]): readonly number[] =>
  one.map((value, index) => value - (other[index] ?? 0));

test.each(trl.cases)('losses, gradients and reference point of TRL: $options', ({ options, losses, gradient }) => {
  const responses = difference(trl.policy, trl.reference).map((logRatio, index) => ({
    logRatio,
    isDesirable: trl.isDesirable[index] ?? false,
  }));
  const result = unpairedLosses(responses, difference(trl.mismatched.policy, trl.mismatched.reference), options);
  expect(result.kl).toBeCloseTo(trl.kl, 12);
  for (const [index, loss] of losses.entries()) expect(result.losses[index]).toBeCloseTo(loss, 11);
  // The pull is minus the derivative of a loss, the gradient that of their mean.
  for (const [index, slope] of gradient.entries()) expect(-(result.pulls[index] ?? 0) / 4).toBeCloseTo(slope, 12);
});

test('importance ratios of stored tokens are those of TRL', () => {
  // `vllm_importance_sampling_ratio` of GRPOTrainer in TRL 1.16.0, in double precision.
  const current = [-1, -0.2, -3, -0.7];
  const stored = [-1.5, -0.25, -1, -2.2];
  const ratios = samplerRatios(current, stored);
  const expectClose = (factors: Iterable<number>, expected: readonly number[]): void =>
    expect([...factors].map((value) => value.toFixed(6))).toEqual(expected.map((value) => value.toFixed(6)));
  expectClose(correctionFactors(ratios, { type: 'truncate', max: 2 }), [1.6487212707, 1.0512710964, 0.1353352832, 2]);
  expectClose(correctionFactors(ratios, { type: 'mask', min: 0.5, max: 2 }), [1.6487212707, 1.0512710964, 0, 0]);
  const sequence = samplerRatios(current, stored, { level: 'sequence' });
  expectClose(
    correctionFactors(sequence, { type: 'truncate', level: 'sequence', max: 3 }),
    Array(4).fill(1.0512710964),
  );
});

describe('a step of kto', () => {
  const context: StepContext = { step: 1, totalSteps: 10, policyVersion: 0, seed: 1 };
  const groups = [aCollectedGroup([1, 0.2], 'a'), aCollectedGroup([0], 'b')];

  function plan(shift: (index: number) => number): StepPlan {
    const algorithm = kto({ beta: 0.5 });
    const request = algorithm.scoring?.(groups, context);
    const reference = request?.data.map(({ samplingLogprobs }) => samplingLogprobs) ?? [];
    const current = reference.map((logprobs, index) => logprobs.map((own) => own + shift(index)));
    return algorithm.planStep(groups, { ...context, scores: { current, reference } });
  }

  test('scores each rollout, and its prompt with the response of the previous one', () => {
    const data = kto().scoring?.(groups, context)?.data ?? [];
    expect(data.map(({ rolloutId }) => rolloutId)).toEqual([
      'ro-a-1',
      'ro-a-2',
      'ro-b-1',
      'ro-a-1',
      'ro-a-2',
      'ro-b-1',
    ]);
    const [first, , last, mismatched] = data;
    const responseOf = (datum = first): readonly number[] =>
      [...(datum?.tokenIds ?? [])].slice(datum?.trained[0]?.start ?? 0);
    expect(responseOf(mismatched)).toEqual(responseOf(last));
    expect(mismatched?.trained[0]?.start).toBe(first?.trained[0]?.start);
  });

  test('weighs desirable rollouts up and others down, by the mean over rollouts', () => {
    const { updates, metrics } = plan(() => 0);
    expect(updates[0]?.loss.name).toBe('cross_entropy');
    const weights = updates.flatMap(({ batches }) =>
      batches.flatMap(({ data }) => data.map((each) => each.weights[0])),
    );
    // β·σ(0)·(1 - σ(0)) = 0.125, for each of three rollouts.
    expect(weights).toEqual([0.125, -0.125, -0.125].map((pull) => Math.fround(Math.fround(pull) * Math.fround(1 / 3))));
    expect(metrics['preference/desirable']).toBeCloseTo(1 / 3, 12);
    expect(metrics['preference/loss']).toBe(0.5);
    expect(metrics['preference/kl']).toBe(0);
  });

  test('measures them against the divergence of the mismatched responses', () => {
    // Two tokens, each half a nat likelier.
    expect(plan((index) => (index < 3 ? 0 : 0.5)).metrics['preference/kl']).toBeCloseTo(1, 5);
  });

  test('without scores says what is missing', () => {
    expect(() => kto().planStep(groups, context)).toThrow(expect.objectContaining({ code: 'CONFIG' }));
  });
});
