import { expect, test } from 'vitest';
import { type LearningRateSchedule, learningRateFactor } from './learning-rate.ts';

const factors = (schedule: LearningRateSchedule, totalSteps: number): readonly number[] =>
  Array.from({ length: totalSteps }, (_, index) => learningRateFactor(schedule, index + 1, totalSteps));

test('constant stays', () => {
  expect(factors({ type: 'constant' }, 3)).toEqual([1, 1, 1]);
});

test('warm-up rises to 1', () => {
  expect(factors({ type: 'constant', warmupSteps: 4 }, 6)).toEqual([0.25, 0.5, 0.75, 1, 1, 1]);
});

test('linear falls to the final fraction in the last step', () => {
  expect(factors({ type: 'linear', finalFraction: 0.5 }, 5)).toEqual([1, 0.875, 0.75, 0.625, 0.5]);
  expect(factors({ type: 'linear', warmupSteps: 2 }, 5)).toEqual([0.5, 1, 1, 0.5, 0]);
});

test('cosine falls slowly at both ends', () => {
  const [first, second, middle, , last] = factors({ type: 'cosine' }, 5);
  expect([first, middle]).toEqual([1, 0.5]);
  expect(second).toBeCloseTo((1 + Math.SQRT1_2) / 2, 12);
  expect(last).toBeCloseTo(0, 12);
});

test('a run of one step, or one that continues beyond its end, has a factor', () => {
  expect(factors({ type: 'linear' }, 1)).toEqual([1]);
  expect(learningRateFactor({ type: 'linear', finalFraction: 0.1 }, 9, 5)).toBe(0.1);
});
