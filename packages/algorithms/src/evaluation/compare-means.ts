import { ValidationError } from '@agentlightning/core';
import { mean, standardDeviation } from '../advantage/sample-statistics.ts';
import { assertFinite, type IntervalOptions } from './mean-interval.ts';
import { twoSidedQuantile, twoSidedTail } from './student-t.ts';

/** The difference of two means, with its confidence interval and p-value. */
export interface MeanComparison {
  /** Mean after minus mean before. */
  readonly difference: number;
  /** Bounds of the difference's confidence interval. */
  readonly low: number;
  /** Upper limit of the interval of the difference. */
  readonly high: number;
  /** Probability of a difference as large, in either direction, if nothing had changed. */
  readonly pValue: number;
}

/**
 * Compares the means of two independent samples by Welch's t-test, which does not suppose equal spread:
 * `t = d / √(s₁²/n₁ + s₂²/n₂)` with the degrees of freedom of Welch and Satterthwaite (Welch 1947).
 *
 * A single value is assumed to have the variance of the other sample, as in Student's test.
 *
 * When both variances are 0, the p-value is that of the permutation test.
 *
 * @param before - rewards of independent rollouts, at least one
 * @param after - rewards of other independent rollouts; the number may differ
 * @throws AgentLightningError with code `INVALID_REWARD` when a sample is empty or has a value that is not finite
 *
 * @example
 * ```ts
 * const { difference, pValue } = compareMeans([0, 0, 1, 0], [1, 1, 0, 1]);
 * ```
 */
export function compareMeans(
  before: readonly number[],
  after: readonly number[],
  options: IntervalOptions = {},
): MeanComparison {
  assertFinite(before);
  assertFinite(after);
  const difference = mean(after) - mean(before);
  const varianceBefore = standardDeviation(before.length === 1 ? after : before) ** 2 / before.length;
  const varianceAfter = standardDeviation(after.length === 1 ? before : after) ** 2 / after.length;
  const variance = varianceBefore + varianceAfter;
  if (variance === 0) {
    const arrangements = binomial(before.length + after.length, after.length);
    return { difference, low: difference, high: difference, pValue: constantPValue(difference, arrangements) };
  }
  const isWelch = before.length > 1 && after.length > 1;
  const degreesOfFreedom = isWelch
    ? variance ** 2 / (share(varianceBefore, before.length) + share(varianceAfter, after.length))
    : before.length + after.length - 2;
  return studentComparison({ difference, standardError: Math.sqrt(variance), degreesOfFreedom }, options);
}

/**
 * Compares the means of two samples whose values belong together pair by pair, as rewards of the same tasks before and after
 * training do, by the paired t-test. It detects smaller differences than {@link compareMeans}, because the difficulty of the
 * tasks cancels out.
 *
 * When all differences are equal, the p-value is that of the sign test.
 *
 * @throws ValidationError when the samples are not of the same length
 * @throws AgentLightningError with code `INVALID_REWARD` when they are empty or a value is not finite
 *
 * @example
 * ```ts
 * const { difference, pValue } = comparePairs([0, 0.5, 0.25], [0.5, 1, 1]);
 * ```
 */
export function comparePairs(
  before: readonly number[],
  after: readonly number[],
  options: IntervalOptions = {},
): MeanComparison {
  if (before.length !== after.length) {
    throw new ValidationError('The pairs to compare', [
      {
        path: '',
        message: `there are ${before.length} values before and ${after.length} after; give one of each per task`,
      },
    ]);
  }
  assertFinite(before);
  assertFinite(after);
  const differences = after.map((value, index) => value - (before[index] ?? 0));
  const difference = mean(differences);
  const count = differences.length;
  if (differences.every((value) => value === differences[0])) {
    return { difference, low: difference, high: difference, pValue: constantPValue(difference, 2 ** count) };
  }
  const standardError = standardDeviation(differences) / Math.sqrt(count);
  return studentComparison({ difference, standardError, degreesOfFreedom: count - 1 }, options);
}

interface StudentStatistic {
  readonly difference: number;
  readonly standardError: number;
  readonly degreesOfFreedom: number;
}

function studentComparison(statistic: StudentStatistic, options: IntervalOptions): MeanComparison {
  const { difference, standardError, degreesOfFreedom } = statistic;
  const margin = twoSidedQuantile(options.confidence ?? 0.95, degreesOfFreedom) * standardError;
  return {
    difference,
    low: difference - margin,
    high: difference + margin,
    pValue: twoSidedTail(difference / standardError, degreesOfFreedom),
  };
}

/** At most two of the equally likely arrangements are as extreme: the observed one and its mirror image. */
function constantPValue(difference: number, arrangements: number): number {
  return difference === 0 ? 1 : Math.min(1, 2 / arrangements);
}

function share(variance: number, count: number): number {
  return variance === 0 ? 0 : variance ** 2 / (count - 1);
}

/** `n` over `k`. */
function binomial(n: number, k: number): number {
  let product = 1;
  for (let factor = 1; factor <= k; factor += 1) product = (product * (n - k + factor)) / factor;
  return product;
}
