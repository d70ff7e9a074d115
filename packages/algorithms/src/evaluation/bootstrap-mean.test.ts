import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../base/seeded-random.ts';
import { bootstrapMean } from './bootstrap-mean.ts';

const single = (values: readonly number[]): number[][] => values.map((value) => [value]);

describe('the bootstrap interval of a mean', () => {
  // scipy 1.17.1: stats.bootstrap((x,), np.mean, method='BCa', n_resamples=400000) at the widened confidence level,
  // 1 - 2Φ(-t√(n/(n-1))), which is 0.99178 for seven values and 0.98290 for ten.
  test.each([
    // Survival times of seven treated mice (Efron and Tibshirani 1993, table 2.1), in days.
    ['mice', { values: [94, 197, 16, 38, 99, 141, 23], mean: 86.8571, low: 35.314, high: 158.286 }],
    // Differences of ten pairs (Student 1908), in tenths of an hour.
    ['sleep', { values: [12, 24, 13, 13, 0, 10, 18, 8, 46, 14], mean: 15.8, low: 9.76, high: 29.36 }],
  ] as const)('is the one that scipy computes: %s', (_name, { values, mean, low, high }) => {
    const interval = bootstrapMean(single(values), { resamples: 200_000 });
    expect(interval.mean).toBeCloseTo(mean, 4);
    expect(Math.abs(interval.low - low)).toBeLessThan(0.4);
    expect(Math.abs(interval.high - high)).toBeLessThan(0.4);
  });

  test('is equal for equal seeds, and differs little between seeds', () => {
    const values = single([0, 0.2, 0.9, 1, 0.4, 0.7]);
    expect(bootstrapMean(values, { seed: 4 })).toEqual(bootstrapMean(values, { seed: 4 }));
    const { low, high } = bootstrapMean(values, { seed: 4 });
    const other = bootstrapMean(values, { seed: 5 });
    expect(Math.abs(low - other.low) + Math.abs(high - other.high)).toBeLessThan(0.05);
  });

  test('is that of the tasks, not of their samples', () => {
    const tasks = [0, 1, 1, 0, 1, 0, 1, 1];
    const once = bootstrapMean(single(tasks));
    const often = bootstrapMean(tasks.map((reward) => Array.from({ length: 50 }, () => reward)));
    expect(often).toEqual({ ...once, count: 400 });
  });

  test('does not shrink to a point when all values are equal', () => {
    // Wilson's bounds of 20 successes in 20: 20/(20 + z²).
    const { low, high } = bootstrapMean(single(Array.from({ length: 20 }, () => 1)));
    expect(low).toBeCloseTo(20 / (20 + 1.959963984540054 ** 2), 9);
    expect(high).toBe(1);
    const same = bootstrapMean(single([0, 0, 0]), { range: [-1, 1] });
    expect(same.low).toBeCloseTo(-same.high, 12);
    expect(same.high).toBeGreaterThan(0);
  });

  test('contains the mean and stays within the range, whatever the values', () => {
    const cluster = fc.array(fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.array(cluster, { minLength: 1, maxLength: 12 }), (clusters) => {
        const { mean, low, high, count } = bootstrapMean(clusters, { resamples: 500, range: [0, 1] });
        expect(count).toBe(clusters.flat().length);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(1);
        expect(low).toBeLessThanOrEqual(mean + 1e-12);
        expect(high).toBeGreaterThanOrEqual(mean - 1e-12);
      }),
    );
  });

  test('mirrors values that are mirrored', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 2, maxLength: 8 }), (eighths) => {
        const values = eighths.map((each) => each / 8);
        const there = bootstrapMean(single(values), { resamples: 500 });
        const back = bootstrapMean(single(values.map((value) => 1 - value)), { resamples: 500 });
        expect(back.low).toBeCloseTo(1 - there.high, 6);
        expect(back.high).toBeCloseTo(1 - there.low, 6);
      }),
    );
  });

  test.each([
    ['uniform rewards of 10 tasks', { tasks: 10, mean: 0.5, draw: (uniform: number) => uniform }],
    ['uniform rewards of 30 tasks', { tasks: 30, mean: 0.5, draw: (uniform: number) => uniform }],
    ['skewed rewards of 30 tasks', { tasks: 30, mean: 0.25, draw: (uniform: number) => uniform ** 3 }],
    ['successes of 25 tasks', { tasks: 25, mean: 0.7, draw: (uniform: number) => (uniform < 0.7 ? 1 : 0) }],
    ['rare failures of 20 tasks', { tasks: 20, mean: 0.95, draw: (uniform: number) => (uniform < 0.95 ? 1 : 0) }],
  ] as const)('has its nominal coverage: %s', (_name, { tasks, mean, draw }) => {
    const random = seededRandom(11);
    expect(coverage(tasks, () => [draw(random())], mean)).toBeGreaterThan(0.925);
  });

  test('has its nominal coverage for tasks of different difficulty with several samples each', () => {
    const random = seededRandom(12);
    const task = (): number[] => {
      const difficulty = random();
      return Array.from({ length: 6 }, () => (random() < difficulty ? 1 : 0));
    };
    const share = coverage(20, task, 0.5);
    expect(share).toBeGreaterThan(0.925);
    expect(share).toBeLessThan(0.985);
  });

  test.each([[[]], [[[]]], [[[1], [Number.NaN]]]])('needs finite values: %j', (clusters) => {
    expect(() => bootstrapMean(clusters)).toThrow(expect.objectContaining({ code: 'INVALID_REWARD' }));
  });
});

/** The share of 800 intervals that contain the true mean. */
function coverage(tasks: number, drawTask: () => readonly number[], mean: number): number {
  const covers = (seed: number): boolean => {
    const clusters = Array.from({ length: tasks }, drawTask);
    const { low, high } = bootstrapMean(clusters, { resamples: 600, seed });
    return low <= mean && mean <= high;
  };
  return Array.from({ length: 800 }, (_, seed) => covers(seed)).filter(Boolean).length / 800;
}
