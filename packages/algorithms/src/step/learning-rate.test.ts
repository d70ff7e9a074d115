import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LearningRate, type LearningRateSchedule, learningRateAt, learningRateSchema } from './learning-rate.ts';

const ratesOf = (rate: LearningRate, totalSteps: number, updates = 1): readonly number[] =>
  Array.from({ length: totalSteps }, (_, index) => index + 1).flatMap((step) =>
    Array.from({ length: updates }, (_, update) => learningRateAt(rate, { step, totalSteps, update, updates })),
  );

test('a number is the rate of every step', () => {
  expect(ratesOf(0.5, 3)).toEqual([0.5, 0.5, 0.5]);
  expect(ratesOf({ schedule: 'constant', peak: 0.5 }, 3)).toEqual([0.5, 0.5, 0.5]);
});

test('a rate of 0 is valid, a negative one is not', () => {
  expect(learningRateSchema.parse(0)).toBe(0);
  expect(learningRateSchema.safeParse(-1e-9).success).toBe(false);
});

test('warm-up rises to the peak in its last step', () => {
  expect(ratesOf({ schedule: 'constant', peak: 1, warmupSteps: 4 }, 6)).toEqual([0.25, 0.5, 0.75, 1, 1, 1]);
  expect(ratesOf({ schedule: 'constant', peak: 1, warmupSteps: 1 }, 2, 2)).toEqual([0.5, 1, 1, 1]);
});

test('linear decays to the final ratio in the last step', () => {
  expect(ratesOf({ schedule: 'linear', peak: 1, finalRatio: 0.5 }, 5)).toEqual([1, 0.875, 0.75, 0.625, 0.5]);
  expect(ratesOf({ schedule: 'linear', peak: 1, warmupSteps: 2, finalRatio: 0 }, 4)).toEqual([0.5, 1, 0.5, 0]);
});

test('cosine decays slowly at both ends', () => {
  const [first, second, middle, , last] = ratesOf({ schedule: 'cosine', peak: 1, finalRatio: 0 }, 5);
  expect([first, middle]).toEqual([1, 0.5]);
  expect(second).toBeCloseTo((1 + Math.SQRT1_2) / 2, 12);
  expect(last).toBeCloseTo(0, 12);
});

test('a run of one step has the peak; steps after the decay keep the final rate', () => {
  expect(ratesOf({ schedule: 'linear', peak: 1 }, 1)).toEqual([1]);
  const decayed: LearningRate = { schedule: 'linear', peak: 1, finalRatio: 0.5, decaySteps: 3 };
  expect(ratesOf(decayed, 5)).toEqual([1, 0.75, 0.5, 0.5, 0.5]);
  expect(ratesOf(decayed, 9).slice(0, 5)).toEqual(ratesOf(decayed, 5));
});

/** Schedules of runs of up to 60 steps. */
const schedules = fc.record({
  schedule: fc.constantFrom<LearningRateSchedule['schedule']>('constant', 'linear', 'cosine'),
  peak: fc.double({ min: 1e-8, max: 10, noNaN: true }),
  warmupSteps: fc.nat(20),
  finalRatio: fc.double({ min: 0, max: 1, noNaN: true }),
  decaySteps: fc.integer({ min: 1, max: 60 }),
}) as fc.Arbitrary<Required<Exclude<LearningRateSchedule, { schedule: 'constant' }>>>;

describe('for every schedule', () => {
  const runs = { rate: schedules, steps: fc.integer({ min: 1, max: 60 }), updates: fc.integer({ min: 1, max: 5 }) };

  test('rates rise until the end of the warm-up, and do not rise afterwards', () => {
    fc.assert(
      fc.property(fc.record(runs), ({ rate, steps, updates }) => {
        const rates = ratesOf(rate, steps, updates);
        const peakAt = rate.warmupSteps * updates - 1;
        for (const [index, value] of rates.entries()) {
          const next = rates[index + 1] ?? value;
          if (index < peakAt && index + 1 < rates.length) expect(next).toBeGreaterThan(value);
          else expect(next).toBeLessThanOrEqual(value * (1 + 1e-12));
        }
        if (rate.warmupSteps > 0 && peakAt < rates.length) expect(rates[peakAt]).toBe(rate.peak);
      }),
    );
  });

  test('rates are within 0 and the peak; decayed ones not below the final ratio', () => {
    fc.assert(
      fc.property(fc.record(runs), ({ rate, steps, updates }) => {
        for (const [index, value] of ratesOf(rate, steps, updates).entries()) {
          const isWarm = (index + 1) / updates >= rate.warmupSteps;
          expect(value).toBeLessThanOrEqual(rate.peak * (1 + 1e-12));
          expect(value).toBeGreaterThanOrEqual(isWarm ? rate.peak * rate.finalRatio * (1 - 1e-12) : 0);
        }
      }),
    );
  });
});
