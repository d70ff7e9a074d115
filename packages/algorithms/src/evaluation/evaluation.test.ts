import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../base/seeded-random.ts';
import { compareMeans, comparePairs } from './compare-means.ts';
import { meanInterval } from './mean-interval.ts';
import { twoSidedQuantile, twoSidedTail } from './student-t.ts';

/** Hours of additional sleep of ten people under two drugs (Student 1908), whose tests are printed in many books. */
const sleep = {
  first: [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2],
  second: [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
};

describe('the distribution of Student', () => {
  test.each([
    [0.95, 1, 12.706204736432095],
    [0.95, 10, 2.2281388519649385],
    [0.99, 30, 2.749995653567223],
    [0.95, 1e4, 1.960201239890626],
    [0.95, Infinity, 1.959963984540054],
  ])('the quantile at %d with %d degrees of freedom is %d', (confidence, degreesOfFreedom, quantile) => {
    expect(twoSidedQuantile(confidence, degreesOfFreedom) / quantile).toBeCloseTo(1, 9);
  });

  test('with one and two degrees of freedom it has a closed form', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e4, noNaN: true }), (t) => {
        expect(Math.abs(twoSidedTail(t, 1) - (2 / Math.PI) * Math.atan2(1, t))).toBeLessThan(1e-12);
        // 1 - t/√(2 + t²), without the cancellation.
        const root = Math.sqrt(2 + t * t);
        expect(Math.abs(twoSidedTail(t, 2) - 2 / (root * (root + t)))).toBeLessThan(1e-12);
      }),
    );
  });

  test('far out the tail stays precise', () => {
    expect(twoSidedTail(1e6, 1) / (2 / Math.PI / 1e6)).toBeCloseTo(1, 9);
    expect(twoSidedTail(Infinity, 3)).toBe(0);
    expect(twoSidedTail(0, 3)).toBeCloseTo(1, 12);
  });

  test.each([0, 1, 1.5, Number.NaN])('a confidence of %s is refused', (confidence) => {
    expect(() => meanInterval([0.2, 0.4], { confidence })).toThrow(/confidence: must be above 0 and below 1, not/);
  });
});

describe('the interval of a mean', () => {
  test('is that of Student for any rewards', () => {
    const { mean, low, high, count } = meanInterval(sleep.first);
    expect([mean, count]).toEqual([0.75, 10]);
    expect(low).toBeCloseTo(-0.5297804, 6);
    expect(high).toBeCloseTo(2.0297804, 6);
  });

  test('is that of Wilson for successes', () => {
    const { mean, low, high } = meanInterval([...Array.from({ length: 7 }, () => 1), 0, 0, 0]);
    expect(mean).toBe(0.7);
    expect(low).toBeCloseTo(0.396778, 5);
    expect(high).toBeCloseTo(0.892209, 5);
  });

  test('does not shrink to a point when everything succeeds or fails', () => {
    const z2 = 1.959963984540054 ** 2;
    expect(meanInterval(Array.from({ length: 20 }, () => 1))).toEqual({
      mean: 1,
      low: expect.closeTo(20 / (20 + z2), 9),
      high: 1,
      count: 20,
    });
    expect(meanInterval([0, 0, 0]).low).toBe(0);
    expect(meanInterval([0, 0, 0]).high).toBeCloseTo(z2 / (3 + z2), 9);
  });

  test('is that of Wilson for one reward, and for equal rewards', () => {
    // Wilson's interval of p = 0.5, n = 1: 0.5 ± z·√(0.25 + z²/4)/(1 + z²) = 0.5 ± z/(2·√(1 + z²)).
    const half = 1.959963984540054 / (2 * Math.sqrt(1 + 1.959963984540054 ** 2));
    expect(meanInterval([0.5])).toEqual({
      mean: 0.5,
      low: expect.closeTo(0.5 - half, 9),
      high: expect.closeTo(0.5 + half, 9),
      count: 1,
    });
    const { low, high } = meanInterval([0.5, 0.5, 0.5, 0.5]);
    expect([low, high]).toEqual([expect.closeTo(0.150039, 6), expect.closeTo(0.849961, 6)]);
  });

  test('is cut at the range of the rewards', () => {
    // Student: 0.95 ± 4.302653·0.086603/√3 = 0.95 ± 0.215133, cut at 1.
    expect(meanInterval([1, 1, 0.85])).toMatchObject({ low: expect.closeTo(0.734867, 5), high: 1 });
    expect(meanInterval([0, 0.1, 0]).low).toBe(0);
    expect(meanInterval([0, 0.1, 0], { range: [-1, 1] }).low).toBeLessThan(0);
    expect(meanInterval([3, 4, 4])).toMatchObject({ high: 4 });
    expect(meanInterval([3, 4, 4], { range: [0, 10] })).toMatchObject({ high: expect.closeTo(5.100884, 5) });
  });

  test('scales with the range: -1 and 1 are failures and successes', () => {
    const scaled = meanInterval([1, 1, -1, 1], { range: [-1, 1] });
    const plain = meanInterval([1, 1, 0, 1]);
    expect(scaled.low).toBeCloseTo(2 * plain.low - 1, 12);
    expect(scaled.high).toBeCloseTo(2 * plain.high - 1, 12);
  });

  test('contains the mean and stays within the range, whatever the rewards', () => {
    const reward = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: -3, max: 5, noNaN: true }));
    fc.assert(
      fc.property(fc.array(reward, { minLength: 1, maxLength: 20 }), (rewards) => {
        const { mean, low, high } = meanInterval(rewards);
        expect(low).toBeGreaterThanOrEqual(Math.min(0, ...rewards));
        expect(high).toBeLessThanOrEqual(Math.max(1, ...rewards));
        expect(low).toBeLessThanOrEqual(mean + 1e-12);
        expect(high).toBeGreaterThanOrEqual(mean - 1e-12);
      }),
    );
  });

  test('contains the true mean about as often as it promises', () => {
    const random = seededRandom(1);
    const covers = (draw: () => number, mean: number): boolean => {
      const { low, high } = meanInterval(Array.from({ length: 25 }, draw));
      return low <= mean && mean <= high;
    };
    const share = (draw: () => number, mean: number): number =>
      Array.from({ length: 2000 }, () => covers(draw, mean)).filter(Boolean).length / 2000;
    expect(share(() => random() + random(), 1)).toBeGreaterThan(0.93);
    expect(share(() => random() + random(), 1)).toBeLessThan(0.97);
    expect(share(() => (random() < 0.8 ? 1 : 0), 0.8)).toBeGreaterThan(0.92);
  });

  test.each([[[]], [[1, Number.NaN]]])('needs finite rewards: %j', (values) => {
    expect(() => meanInterval(values)).toThrow(expect.objectContaining({ code: 'INVALID_REWARD' }));
  });
});

describe('the comparison of two means', () => {
  test('is the test of Welch for samples that do not depend on each other', () => {
    const { difference, low, high, pValue } = compareMeans(sleep.first, sleep.second);
    expect(difference).toBeCloseTo(1.58, 12);
    expect(low).toBeCloseTo(-0.2054832, 6);
    expect(high).toBeCloseTo(3.3654832, 6);
    expect(pValue).toBeCloseTo(0.0793941, 6);
  });

  test('is the paired test for values of the same tasks', () => {
    const { difference, low, high, pValue } = comparePairs(sleep.first, sleep.second);
    expect(difference).toBeCloseTo(1.58, 12);
    expect(low).toBeCloseTo(0.7001142, 6);
    expect(high).toBeCloseTo(2.4598858, 6);
    expect(pValue).toBeCloseTo(0.00283289, 7);
  });

  test.each([
    ['Welch', compareMeans],
    ['paired', comparePairs],
  ])('%s: turning the samples round turns the difference round', (_, compare) => {
    const there = compare(sleep.first, sleep.second);
    const back = compare(sleep.second, sleep.first);
    expect(back.difference).toBeCloseTo(-there.difference, 12);
    expect(back.pValue).toBeCloseTo(there.pValue, 12);
    expect(back.low).toBeCloseTo(-there.high, 12);
  });

  test('without any spread the p-value is that of the permutation or sign test', () => {
    const zeros = [0, 0, 0, 0, 0];
    const ones = [1, 1, 1, 1, 1];
    expect(compareMeans(zeros, ones)).toEqual({ difference: 1, low: 1, high: 1, pValue: 2 / 252 });
    expect(comparePairs(zeros, ones)).toEqual({ difference: 1, low: 1, high: 1, pValue: 2 / 32 });
    expect(compareMeans([0.1, 0.1, 0.1], [0.1, 0.1, 0.1]).pValue).toBe(1);
    expect(comparePairs([0.1, 0.7], [0.1, 0.7]).pValue).toBe(1);
  });

  test('takes the spread of a single value for that of the other sample', () => {
    // The pooled test of Student: t = 1 / (0.1·√(1 + 1/3)) with 2 degrees of freedom, whose tail is 1 - t/√(t² + 2).
    const { pValue, low, high } = compareMeans([0], [0.9, 1, 1.1]);
    const t = 1 / (0.1 * Math.sqrt(4 / 3));
    expect(pValue).toBeCloseTo(1 - t / Math.sqrt(t * t + 2), 12);
    expect(high - low).toBeCloseTo(2 * 4.302652729911275 * 0.1 * Math.sqrt(4 / 3), 9);
    expect(compareMeans([0.9, 1, 1.1], [0]).pValue).toBeCloseTo(pValue, 12);
  });

  test('has the false-positive rate that its confidence level implies', () => {
    const random = seededRandom(2);
    const draw = (): readonly number[] => Array.from({ length: 20 }, () => (random() < 0.5 ? 1 : 0) + random());
    for (const compare of [compareMeans, comparePairs]) {
      const found = Array.from({ length: 2000 }, () => compare(draw(), draw()).pValue < 0.05).filter(Boolean).length;
      expect(found / 2000).toBeGreaterThan(0.035);
      expect(found / 2000).toBeLessThan(0.065);
    }
  });

  test('refuses what it cannot compare', () => {
    expect(() => comparePairs([1], [1, 2])).toThrow(/there are 1 values before and 2 after/);
    expect(() => compareMeans([], [1])).toThrow(/There is no reward/);
    expect(() => comparePairs([1], [Number.NaN])).toThrow(/Reward 0 is NaN/);
  });
});
