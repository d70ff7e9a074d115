import type { AdvantageEstimate, RolloutReturn } from '@agentlightning/core/algorithm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AdvantageType, advantageEstimator } from './advantage-options.ts';

/** Two groups of four, with the lengths of their rollouts: the case that implementations are compared by. */
const reference = returnsOf([1, 0, 0, 1, 0.2, 0.4, 0.9, 0.5], {
  lengths: [5, 3, 1, 4, 2, 5, 3, 4],
  groupOf: (index) => (index < 4 ? 'a' : 'b'),
});

describe('reference values, worked out apart from this code', () => {
  test.each<[AdvantageType, readonly number[]]>([
    ['grpo', [0.866024, -0.866024, -0.866024, 0.866024, -1.019046, -0.339682, 1.358728, 0]],
    ['dr-grpo', [0.5, -0.5, -0.5, 0.5, -0.3, -0.1, 0.4, 0]],
    ['batch-std', [1.178234, -1.178234, -1.178234, 1.178234, -0.70694, -0.235647, 0.942587, 0]],
    ['rloo', [0.666667, -0.666667, -0.666667, 0.666667, -0.4, -0.133333, 0.533333, 0]],
    ['opo', [0.307692, -0.692308, -0.692308, 0.307692, -0.307143, -0.107143, 0.392857, -0.007143]],
    ['maxrl', [0.999998, -0.999998, -0.999998, 0.999998, -0.599999, -0.2, 0.799998, 0]],
    ['reinforce++', [1.06877, -1.578641, -1.578641, 1.06877, -1.049159, -0.519677, 0.804029, -0.254936]],
    ['reinforce++-baseline', [1.06877, -1.578641, -1.578641, 1.06877, -1.049159, -0.519677, 0.804029, -0.254936]],
  ])('%s', (type, expected) => {
    const { advantages } = advantageEstimator({ type }).estimate(reference);
    for (const [index, value] of expected.entries()) expect(advantages[index]).toBeCloseTo(value, 6);
  });
});

/** Groups of two to six rollouts, one to four of them, with lengths; rewards have both signs by default. */
function anyReturns(lowest: number): fc.Arbitrary<readonly RolloutReturn[]> {
  const rollout = fc.record({ reward: fc.integer({ min: lowest, max: 20 }), length: fc.integer({ min: 1, max: 9 }) });
  const group = fc.array(rollout, { minLength: 2, maxLength: 6 });
  return fc.array(group, { minLength: 1, maxLength: 4 }).map((groups) =>
    groups.flatMap((members, group) =>
      members.map(({ reward, length }, index) => ({
        rolloutId: `ro-${group}-${index}`,
        groupId: `gr-${group}`,
        value: reward / 8,
        trainedTokens: length,
      })),
    ),
  );
}

/** What an advantage is by another way of reckoning, for a return within a group that is not constant. */
type Derivation = (own: ScoredReturn, group: readonly ScoredReturn[], batch: readonly ScoredReturn[]) => number;
type ScoredReturn = RolloutReturn & { readonly value: number };

const derivations: readonly (readonly [AdvantageType, number, Derivation])[] = [
  // The mean difference to all, itself included.
  ['dr-grpo', -20, (own, group) => average(group.map(({ value }) => own.value - value))],
  [
    'grpo',
    -20,
    (own, group) => average(group.map(({ value }) => own.value - value)) / (pairwiseDeviation(values(group)) + 1e-6),
  ],
  [
    'reinforce++-baseline',
    -20,
    (own, _, batch) => {
      const centred = batch
        .map((each) => ({ each, group: batch.filter(({ groupId }) => groupId === each.groupId) }))
        .filter(({ group }) => new Set(values(group)).size > 1)
        .map(({ each, group }) => ({ ...each, value: each.value - average(values(group)) }));
      const tokens = tiled(centred);
      const ownCentred = centred.find(({ rolloutId }) => rolloutId === own.rolloutId)?.value ?? 0;
      return (ownCentred - average(tokens)) / Math.sqrt(pairwiseDeviation(tokens) ** 2 + 1e-8);
    },
  ],
  // The mean over the others, left out one by one.
  ['rloo', -20, (own, group) => own.value - average(group.filter((other) => other !== own).map(({ value }) => value))],
  // The baseline as the mean over tokens, written out token by token.
  ['opo', -20, (own, group) => own.value - average(tiled(group))],
  [
    'maxrl',
    0,
    (own, group) => own.value / (average(values(group)) + 1e-6) - 1 + 1e-6 / (average(values(group)) + 1e-6),
  ],
  [
    'batch-std',
    -20,
    (own, group, batch) => (own.value - average(values(group))) / (pairwiseDeviation(values(batch)) + 1e-4),
  ],
  [
    'reinforce++',
    -20,
    (own, _, batch) => (own.value - average(tiled(batch))) / Math.sqrt(pairwiseDeviation(tiled(batch)) ** 2 + 1e-8),
  ],
];

test.each(derivations)('%s agrees with another way of reckoning', (type, lowest, derive) => {
  fc.assert(
    fc.property(anyReturns(lowest), (returns) => {
      const scored = returns.filter((each): each is ScoredReturn => each.value !== null);
      const isGroupwise = type !== 'reinforce++';
      fc.pre(isGroupwise || new Set(values(scored)).size > 1);
      const { advantages } = advantageEstimator({ type }).estimate(returns);
      for (const [index, own] of scored.entries()) {
        const group = scored.filter(({ groupId }) => groupId === own.groupId);
        const isConstant = isGroupwise && new Set(values(group)).size === 1;
        const expected = isConstant ? 0 : derive(own, group, scored);
        expect(Math.abs((advantages[index] ?? Number.NaN) - expected)).toBeLessThan(
          1e-9 * Math.max(1, Math.abs(expected)),
        );
      }
    }),
  );
});

test('reinforce++-baseline has mean 0 and variance 1 over the tokens of the groups that teach something', () => {
  fc.assert(
    fc.property(anyReturns(-20), (returns) => {
      const groups = new Map<string, RolloutReturn[]>();
      for (const each of returns) groups.set(each.groupId, [...(groups.get(each.groupId) ?? []), each]);
      const teaches = (groupId: string): boolean => new Set(groups.get(groupId)?.map(({ value }) => value)).size > 1;
      const { advantages } = advantageEstimator({ type: 'reinforce++-baseline' }).estimate(returns);
      const whitened = returns.flatMap(({ groupId, trainedTokens }, index) =>
        teaches(groupId) ? Array.from({ length: trainedTokens }, () => advantages[index] ?? Number.NaN) : [],
      );
      for (const [index, { groupId }] of returns.entries()) if (!teaches(groupId)) expect(advantages[index]).toBe(0);
      if (whitened.length === 0) return;
      expect(Math.abs(average(whitened))).toBeLessThan(1e-9);
      expect(pairwiseDeviation(whitened)).toBeCloseTo(1, 5);
    }),
  );
});

test('with one token a rollout, opo is the group’s mean and reinforce++-baseline needs no lengths', () => {
  const returns = returnsOf([1, 0, 0, 1], { lengths: [1, 1, 1, 1], groupOf: () => 'a' });
  expect(estimate('opo', returns)).toEqual(estimate('dr-grpo', returns));
  const unknownLengths = returns.map((each) => ({ ...each, trainedTokens: 0 }));
  expect(estimate('opo', unknownLengths)).toEqual(estimate('opo', returns));
  expect(estimate('reinforce++-baseline', unknownLengths)).toEqual(estimate('reinforce++-baseline', returns));
});

test('reinforce++ needs no groups: a rollout a task is enough', () => {
  const returns = returnsOf([1, 0, 0.25], { lengths: [2, 2, 2], groupOf: (index) => `gr-${index}` });
  const { advantages, singletonGroups } = advantageEstimator({ type: 'reinforce++' }).estimate(returns);
  expect([Math.sign(advantages[0] ?? 0), Math.sign(advantages[1] ?? 0), singletonGroups]).toEqual([1, -1, 0]);
});

test('maxrl refuses rewards below 0, whose sign would turn round', () => {
  const returns = returnsOf([-1, -2], { lengths: [1, 1], groupOf: () => 'a' });
  expect(() => advantageEstimator({ type: 'maxrl' }).estimate(returns)).toThrow(
    expect.objectContaining({ code: 'INVALID_REWARD', message: expect.stringContaining('-2') }),
  );
});

function estimate(type: AdvantageType, returns: readonly RolloutReturn[]): AdvantageEstimate {
  return advantageEstimator({ type }).estimate(returns);
}

function returnsOf(
  rewards: readonly number[],
  { lengths, groupOf }: { readonly lengths: readonly number[]; readonly groupOf: (index: number) => string },
): readonly RolloutReturn[] {
  return rewards.map((value, index) => ({
    rolloutId: `ro-${index}`,
    groupId: groupOf(index),
    value,
    trainedTokens: lengths[index] ?? 0,
  }));
}

function values(returns: readonly ScoredReturn[]): readonly number[] {
  return returns.map(({ value }) => value);
}

/** Each return once for every token of its rollout. */
function tiled(returns: readonly ScoredReturn[]): readonly number[] {
  return returns.flatMap(({ value, trainedTokens }) => Array.from({ length: trainedTokens }, () => value));
}

/** The mean, by moving it towards each next number. */
function average(numbers: readonly number[]): number {
  return numbers.reduce((centre, value, index) => centre + (value - centre) / (index + 1), 0);
}

/** The sample standard deviation without a mean: the squared differences of all pairs add up to 2n(n - 1) variances. */
function pairwiseDeviation(numbers: readonly number[]): number {
  const squares = numbers.flatMap((one) => numbers.map((other) => (one - other) ** 2));
  const count = numbers.length;
  return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / (2 * count * (count - 1)));
}
