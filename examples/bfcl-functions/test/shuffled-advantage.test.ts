import { grpoAdvantage } from '@agentlightning/algorithms';
import { expect, test } from 'vitest';
import { shuffledAdvantage } from '../shuffled-advantage.ts';

const returns = Array.from({ length: 64 }, (_, index) => ({
  rolloutId: `ro-${index}`,
  groupId: `group-${Math.floor(index / 8)}`,
  value: index / 64,
  trainedTokens: 10,
}));

test('advantages of shuffled rewards are reproducible, and do not depend on the order of the rewards', () => {
  const { advantages } = shuffledAdvantage().estimate(returns);
  expect(shuffledAdvantage().estimate(returns).advantages).toEqual(advantages);
  const real = grpoAdvantage().estimate(returns).advantages;
  // In each group the rewards rise with the index, so the real advantages correlate perfectly.
  const correlation = (values: readonly number[]): number =>
    values.reduce((sum, value, index) => sum + value * (real[index] ?? 0), 0) / values.length;
  expect(Math.abs(correlation(advantages))).toBeLessThan(0.3 * correlation(real));
});

test('shuffling permutes the rewards of the whole batch', () => {
  const constant = returns.map((each) => ({ ...each, value: each.groupId === 'group-0' ? 1 : 0 }));
  expect(grpoAdvantage().estimate(constant).constantGroups).toBe(8);
  expect(shuffledAdvantage().estimate(constant).constantGroups).toBeLessThan(8);
});
