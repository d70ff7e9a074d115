import type { StepContext, StepPlan } from '@agentlightning/core/algorithm';
import { aCollectedGroup } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dpo } from '../recipes/dpo.ts';
import { pairLoss, type ScoredResponse } from './preference-loss.ts';
import { preferencePairs } from './preference-pairs.ts';

describe('the loss of a pair', () => {
  test('is ln 2 where the policy is the reference, and pulls with half of beta', () => {
    const same = { current: -3, reference: -3 };
    expect(pairLoss(same, same, 0.2)).toEqual({ loss: Math.LN2, margin: 0, pull: 0.1 });
  });

  test('reference values', () => {
    // Δ = (-1 + 2) - (-4 + 3) = 2, σ(-1) = 0.268941421…
    const { loss, margin, pull } = pairLoss({ current: -1, reference: -2 }, { current: -4, reference: -3 }, 0.5);
    expect(margin).toBe(2);
    expect(loss).toBeCloseTo(0.313261687518, 12);
    expect(pull).toBeCloseTo(0.5 * 0.268941421369995, 12);
  });

  const logprob = fc.double({ min: -80, max: 0, noNaN: true });
  const response: fc.Arbitrary<ScoredResponse> = fc.record({ current: logprob, reference: logprob });
  const beta = fc.double({ min: 0.01, max: 2, noNaN: true });

  test('its pull is the derivative that small steps measure, with both signs', () => {
    const step = 1e-5;
    fc.assert(
      fc.property(response, response, beta, (chosen, rejected, strength) => {
        const shifted = (by: number): number =>
          pairLoss({ ...chosen, current: chosen.current + by }, rejected, strength).loss;
        const other = (by: number): number =>
          pairLoss(chosen, { ...rejected, current: rejected.current + by }, strength).loss;
        const { pull } = pairLoss(chosen, rejected, strength);
        expect((shifted(step) - shifted(-step)) / (2 * step)).toBeCloseTo(-pull, 5);
        expect((other(step) - other(-step)) / (2 * step)).toBeCloseTo(pull, 5);
      }),
    );
  });

  test('is finite, at least 0, and smaller the larger the margin', () => {
    fc.assert(
      fc.property(response, response, beta, (chosen, rejected, strength) => {
        const { loss, pull } = pairLoss(chosen, rejected, strength);
        expect(loss >= 0 && Number.isFinite(loss) && pull >= 0 && pull <= strength).toBe(true);
        const better = pairLoss({ ...chosen, current: chosen.current + 1 }, rejected, strength);
        expect(better.loss).toBeLessThanOrEqual(loss);
      }),
    );
  });
});

describe('pairs', () => {
  const judged = (rewards: readonly (number | null)[]): readonly { groupId: string; reward: number | null }[] =>
    rewards.map((reward) => ({ groupId: 'a', reward }));
  const rewardsOf = (...given: Parameters<typeof preferencePairs>): readonly (readonly (number | null)[])[] =>
    preferencePairs(...given).map(({ chosen, rejected }) => [chosen.reward, rejected.reward]);

  test('are the best with the worst, the next with the next, nothing twice', () => {
    expect(rewardsOf(judged([0.5, null, 1, 0, 0.25]), { pairsPerTask: 5 })).toEqual([
      [1, 0],
      [0.5, 0.25],
    ]);
    expect(rewardsOf(judged([0.5, 1, 0]))).toEqual([[1, 0]]);
  });

  test('need a difference, and as large a one as is asked for', () => {
    expect(rewardsOf(judged([1, 1]))).toEqual([]);
    expect(rewardsOf(judged([1, 0.5]), { minGap: 0.6 })).toEqual([]);
    expect(rewardsOf(judged([1, null]))).toEqual([]);
  });

  test('are never of two tasks', () => {
    const two = [...judged([1]), { groupId: 'b', reward: 0 }];
    expect(preferencePairs(two)).toEqual([]);
  });
});

describe('a step of dpo', () => {
  const context: StepContext = { step: 1, totalSteps: 10, policyVersion: 0, seed: 1 };
  const groups = [aCollectedGroup([1, 0.5, 0], 'a'), aCollectedGroup([1, 1], 'b'), aCollectedGroup([0, 2], 'c')];

  function plan(currentShift: number): StepPlan {
    const algorithm = dpo({ beta: 0.5 });
    const request = algorithm.scoring?.(groups, context);
    const reference = request?.data.map(({ samplingLogprobs }) => samplingLogprobs) ?? [];
    // The chosen ones are first of each pair.
    const current = reference.map((logprobs, index) =>
      logprobs.map((own) => own + (index % 2 === 0 ? currentShift : 0)),
    );
    return algorithm.planStep(groups, { ...context, scores: { current, reference } });
  }

  test('scores the pairs only, under both policies', () => {
    const request = dpo().scoring?.(groups, context);
    expect(request?.policies).toEqual(['current', 'reference']);
    expect(request?.data.map(({ rolloutId }) => rolloutId)).toEqual(['ro-a-1', 'ro-a-3', 'ro-c-2', 'ro-c-1']);
  });

  test('weighs the tokens of the chosen up and those of the rejected down, by the mean over pairs', () => {
    const { updates } = plan(0);
    expect(updates[0]?.loss.name).toBe('cross_entropy');
    const weights = updates.flatMap(({ batches }) =>
      batches.flatMap(({ data }) => data.map((each) => each.weights[0])),
    );
    // Two pairs, each with a pull of 0.5 / 2.
    expect(weights).toEqual([0.125, -0.125, 0.125, -0.125]);
  });

  test('pulls less where the policy prefers what is chosen already, and says so', () => {
    const { updates, metrics } = plan(1);
    // Two tokens, each a nat likelier: Δ = 2.
    const pull = 0.5 / (1 + Math.exp(1));
    expect(updates[0]?.batches[0]?.data[0]?.weights[0]).toBeCloseTo(pull / 2, 6);
    expect(metrics['preference/pairs']).toBe(2);
    expect(metrics['preference/margin']).toBeCloseTo(2, 5);
    expect(metrics['preference/accuracy']).toBe(1);
    expect(metrics['preference/loss']).toBeCloseTo(Math.log1p(Math.exp(-1)), 5);
  });

  test('without scores says what is missing', () => {
    expect(() => dpo().planStep(groups, context)).toThrow(expect.objectContaining({ code: 'CONFIG' }));
  });
});
