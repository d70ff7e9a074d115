import type { AdvantageEstimator, RolloutReturn } from '@agentlightning/core/algorithm';
import { describeAdvantageEstimatorContract } from '@agentlightning/core/contracts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { advantageEstimator, advantageTypes } from './advantage-options.ts';
import { meanCentredAdvantage } from './group-advantages.ts';
import { grpoAdvantage } from './grpo-advantage.ts';

for (const type of advantageTypes)
  describeAdvantageEstimatorContract({
    name: type,
    create: () => advantageEstimator({ type }),
    compares: type === 'reinforce++' ? 'batch' : 'group',
  });

/** Two groups of four, as in the published comparison of estimators. */
const reference = [1, 0, 0, 1, 0.2, 0.4, 0.9, 0.5];

function returnsOf(values: readonly number[], groupOf: (index: number) => string): readonly RolloutReturn[] {
  return values.map((value, index) => ({ rolloutId: `ro-${index}`, groupId: groupOf(index), value, trainedTokens: 1 }));
}

function advantagesOf(estimator: AdvantageEstimator, values: readonly number[], groupSize: number): readonly number[] {
  return estimator.estimate(returnsOf(values, (index) => `gr-${Math.floor(index / groupSize)}`)).advantages;
}

test('grpo divides by the sample standard deviation: reference values', () => {
  const expected = [0.866024, -0.866024, -0.866024, 0.866024, -1.019046, -0.339682, 1.358728, 0];
  const advantages = advantagesOf(grpoAdvantage(), reference, 4);
  for (const [index, value] of expected.entries()) expect(advantages[index]).toBeCloseTo(value, 6);
});

test('dr-grpo only takes the mean away: reference values', () => {
  const advantages = advantagesOf(meanCentredAdvantage(), reference, 4);
  for (const [index, value] of [0.5, -0.5, -0.5, 0.5, -0.3, -0.1, 0.4, 0].entries()) {
    expect(advantages[index]).toBeCloseTo(value, 12);
  }
});

test('grpo agrees with a derivation by pairwise differences', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.integer({ min: -6400, max: 6400 }).map((value) => value / 64),
        { minLength: 2, maxLength: 12 },
      ),
      (values) => {
        fc.pre(new Set(values).size > 1);
        const n = values.length;
        // mean(R_i - R_j) over all j is R_i - mean(R); the sum of squared differences of all pairs is 2n(n - 1)·variance.
        const squares = values.flatMap((one) => values.map((other) => (one - other) ** 2));
        const deviation = Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / (2 * n * (n - 1)));
        const advantages = advantagesOf(grpoAdvantage(), values, n);
        for (const [index, value] of values.entries()) {
          const centred = values.reduce((sum, other) => sum + (value - other) / n, 0);
          const expected = centred / (deviation + 1e-6);
          expect(Math.abs((advantages[index] ?? Number.NaN) - expected)).toBeLessThan(
            1e-9 * Math.max(1, Math.abs(expected)),
          );
        }
      },
    ),
  );
});

describe.each(['grpo', 'dr-grpo', 'rloo'] as const)('%s', (type) => {
  const estimator = advantageEstimator({ type });
  const rewards = fc.array(
    fc.integer({ min: -20, max: 20 }).map((value) => value / 8),
    { minLength: 2, maxLength: 24 },
  );

  test('sums to zero within each group', () => {
    fc.assert(
      fc.property(rewards, fc.integer({ min: 2, max: 6 }), (values, groups) => {
        const returns = returnsOf(values, (index) => `gr-${index % groups}`);
        const sums = new Map<string, number>();
        for (const [index, advantage] of estimator.estimate(returns).advantages.entries()) {
          const { groupId = '' } = returns[index] ?? {};
          sums.set(groupId, (sums.get(groupId) ?? 0) + advantage);
        }
        for (const sum of sums.values()) expect(Math.abs(sum)).toBeLessThan(1e-9);
      }),
    );
  });

  test('does not depend on other groups', () => {
    fc.assert(
      fc.property(rewards, rewards, (one, other) => {
        const together = estimator.estimate([...returnsOf(one, () => 'a'), ...returnsOf(other, () => 'b')]).advantages;
        const apart = [one, other].flatMap((values) => estimator.estimate(returnsOf(values, () => 'a')).advantages);
        expect(together).toEqual(apart);
      }),
    );
  });

  test('does not change when every reward of a group is raised by the same', () => {
    fc.assert(
      fc.property(rewards, fc.integer({ min: -50, max: 50 }), (values, shift) => {
        const shifted = advantagesOf(
          estimator,
          values.map((value) => value + shift),
          values.length,
        );
        for (const [index, advantage] of advantagesOf(estimator, values, values.length).entries()) {
          expect(Math.abs((shifted[index] ?? Number.NaN) - advantage)).toBeLessThan(1e-9);
        }
      }),
    );
  });

  test('a rollout counts once, however many tokens it has', () => {
    const short = returnsOf([1, 0, 0], () => 'a');
    const long = short.map((one, index) => ({ ...one, trainedTokens: 100 * (index + 1) }));
    expect(estimator.estimate(long)).toEqual(estimator.estimate(short));
  });
});

test('grpo hardly depends on the scale of rewards, dr-grpo follows it', () => {
  const scaled = reference.map((value) => 10 * value);
  expect(advantagesOf(grpoAdvantage(), scaled, 4)[0]).toBeCloseTo(
    advantagesOf(grpoAdvantage(), reference, 4)[0] ?? 0,
    5,
  );
  expect(advantagesOf(meanCentredAdvantage(), scaled, 4)[0]).toBeCloseTo(5, 12);
});
