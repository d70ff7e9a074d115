import { describe, expect, test } from 'vitest';
import type { AdvantageEstimator, RolloutReturn } from '../algorithm/advantage.ts';
import { deepFreeze } from './deep-freeze.ts';

/** Options of the advantage estimator contract. */
export interface AdvantageEstimatorContractOptions {
  /** Name of the implementation in the test report. */
  readonly name: string;
  readonly create: () => AdvantageEstimator;
  /** Reference of a return: its group, or the whole batch. @default 'group' */
  readonly compares?: 'group' | 'batch';
}

/**
 * Contract tests for every {@link AdvantageEstimator}, with vitest.
 * @example
 *
 * @example
 * ```ts
 * describeAdvantageEstimatorContract({ name: 'grpo', create: grpoAdvantage });
 * ```
 */
export function describeAdvantageEstimatorContract(options: AdvantageEstimatorContractOptions): void {
  describe(`the advantage estimator contract: ${options.name}`, () => {
    describeComparisons(options);
    describeNothingToLearn(options);
  });
}

function describeComparisons({ create }: AdvantageEstimatorContractOptions): void {
  test('it has a name', () => {
    expect(create().name).not.toBe('');
  });

  test('there is one finite advantage for each return', () => {
    const { advantages } = create().estimate(returns);
    expect(advantages).toHaveLength(returns.length);
    for (const advantage of advantages) expect(advantage).toSatisfy(Number.isFinite);
  });

  test('within a group a higher return has a larger advantage', () => {
    const { advantages } = create().estimate(returns);
    for (const [i, one] of returns.entries()) {
      for (const [j, other] of returns.entries()) {
        if (one.groupId !== other.groupId || one.value === null || other.value === null) continue;
        if (one.value > other.value) expect(advantages[i]).toBeGreaterThan(advantages[j] ?? Number.NaN);
      }
    }
  });

  test('the order of the returns does not matter', () => {
    const { advantages } = create().estimate(returns);
    const reversed = create().estimate(returns.toReversed()).advantages.toReversed();
    for (const [index, advantage] of advantages.entries()) expect(reversed[index]).toBeCloseTo(advantage, 9);
  });

  test('estimation is deterministic and does not mutate the returns', () => {
    expect(create().estimate(deepFreeze(structuredClone(returns)))).toEqual(create().estimate(returns));
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('a return of %s is rejected', (value) => {
    const estimate = (): unknown => create().estimate([aReturn('bad', value), aReturn('bad', 1)]);
    expect(estimate).toThrow(expect.objectContaining({ code: 'INVALID_REWARD' }));
  });
}

function describeNothingToLearn({ create, compares = 'group' }: AdvantageEstimatorContractOptions): void {
  test('no returns give no advantages', () => {
    expect(create().estimate([])).toEqual({ advantages: [], singletonGroups: 0, constantGroups: 0 });
  });

  test('a rollout without a return gets 0 and does not affect others', () => {
    const isKnown = returns.map(({ value }) => value !== null);
    const { advantages } = create().estimate(returns);
    expect(advantages.filter((_, index) => !isKnown[index])).toEqual([0, 0]);
    const without = create().estimate(returns.filter((_, index) => isKnown[index]));
    expect(advantages.filter((_, index) => isKnown[index])).toEqual(without.advantages);
  });

  test('a singleton return gets exactly 0 and is counted', () => {
    const alone = [aReturn('a', 5), aReturn('a', null)];
    expect(create().estimate(alone)).toEqual({ advantages: [0, 0], singletonGroups: 1, constantGroups: 0 });
  });

  test(`a return is compared with those of its ${compares}`, () => {
    const { advantages, singletonGroups } = create().estimate([aReturn('a', 5), aReturn('b', -2)]);
    if (compares === 'group')
      expect({ advantages, singletonGroups }).toEqual({ advantages: [0, 0], singletonGroups: 2 });
    else expect([...advantages.map(Math.sign), singletonGroups]).toEqual([1, -1, 0]);
  });

  test('a group of equal returns gets exactly 0, regardless of rounding, and is counted', () => {
    const equal = [aReturn('a', 0.1), aReturn('a', 0.1), aReturn('a', 0.1)];
    expect(create().estimate(equal)).toEqual({ advantages: [0, 0, 0], singletonGroups: 0, constantGroups: 1 });
  });

  test('a group without returns is neither singleton nor constant', () => {
    const unknown = [aReturn('a', null), aReturn('a', null)];
    expect(create().estimate(unknown)).toEqual({ advantages: [0, 0], singletonGroups: 0, constantGroups: 0 });
  });
}

function aReturn(groupId: string, value: number | null): RolloutReturn {
  return { rolloutId: `ro-${groupId}`, groupId, value, trainedTokens: 5 };
}

/** Two interleaved groups with returns of different scale. */
const returns: readonly RolloutReturn[] = [
  { rolloutId: 'ro-1', groupId: 'a', value: 1, trainedTokens: 5 },
  { rolloutId: 'ro-2', groupId: 'b', value: 20, trainedTokens: 2 },
  { rolloutId: 'ro-3', groupId: 'a', value: 0, trainedTokens: 3 },
  { rolloutId: 'ro-4', groupId: 'a', value: null, trainedTokens: 1 },
  { rolloutId: 'ro-5', groupId: 'b', value: 90, trainedTokens: 4 },
  { rolloutId: 'ro-6', groupId: 'a', value: 0.5, trainedTokens: 0 },
  { rolloutId: 'ro-7', groupId: 'b', value: 40, trainedTokens: 7 },
  { rolloutId: 'ro-8', groupId: 'b', value: null, trainedTokens: 7 },
];
