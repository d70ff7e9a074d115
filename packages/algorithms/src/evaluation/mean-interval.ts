import { AgentLightningError } from '@agentlightning/core';
import { mean, standardDeviation } from '../advantage/sample-statistics.ts';
import { twoSidedQuantile } from './student-t.ts';

/** A mean with its confidence interval. */
export interface MeanInterval {
  /** The mean. */
  readonly mean: number;
  /** Lower limit of the interval. */
  readonly low: number;
  /** Upper limit of the interval. */
  readonly high: number;
  /** Number of values. */
  readonly count: number;
}

/** Options of confidence intervals. */
export interface IntervalOptions {
  /** Share of such intervals that contain the true value, above 0 and below 1. @default 0.95 */
  readonly confidence?: number;
}

/** Options of the interval of a mean. */
export interface MeanIntervalOptions extends IntervalOptions {
  /**
   * The lowest and the highest possible reward. Rewards outside the range widen it.
   *
   * @default the smallest range with 0, 1 and every value
   */
  readonly range?: readonly [low: number, high: number] | undefined;
}

/**
 * The mean of rewards with its confidence interval, which never leaves the range `[a, b]` of the rewards.
 *
 * - Rewards with spread that are not all `a` or `b`: Student's interval `mean ± t·s/√n` with `n − 1` degrees of freedom
 *   (Student 1908), cut at `a` and `b`. The cut keeps the coverage, because the true mean lies in the range.
 * - Rewards that are all `a` or `b`, all equal, or only one: Wilson's score interval (Wilson 1927, JASA 22, 209–212)
 *   for `p = (mean − a)/(b − a)`, `(p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n)`, scaled back to `[a, b]`. It does
 *   not shrink to a point when all rewards are equal. No variable in `[a, b]` with this mean has a larger variance than
 *   `p(1−p)(b−a)²` (Bhatia and Davis 2000), so it errs on the wide side.
 *
 * Where the range is not given and rewards lie outside of 0 to 1, the range is the observed one. With few rewards the
 * true range may be wider; give it then.
 *
 * @param values - independent rewards; at least one
 * @throws AgentLightningError with code `INVALID_REWARD` when there is no value or one is not finite
 *
 * @example
 * ```ts
 * const { mean, low, high } = meanInterval([1, 1, 0, 1]); // 0.75, 0.30, 0.95
 * ```
 */
export function meanInterval(values: readonly number[], options: MeanIntervalOptions = {}): MeanInterval {
  assertFinite(values);
  const confidence = options.confidence ?? 0.95;
  const [low, high] = rangeOf(values, options.range ?? [0, 1]);
  const count = values.length;
  const centre = mean(values);
  const hasOneValue = values.every((value) => value === values[0]);
  if (hasOneValue || values.every((value) => value === low || value === high)) {
    const width = high - low;
    const share = wilson((centre - low) / width, count, confidence);
    return { mean: centre, low: low + share.low * width, high: low + share.high * width, count };
  }
  const margin = (twoSidedQuantile(confidence, count - 1) * standardDeviation(values)) / Math.sqrt(count);
  return { mean: centre, low: Math.max(low, centre - margin), high: Math.min(high, centre + margin), count };
}

/** The smallest range that contains the given one and every value. */
function rangeOf(values: readonly number[], [low, high]: readonly [number, number]): readonly [number, number] {
  return [
    values.reduce((lowest, value) => Math.min(lowest, value), low),
    values.reduce((highest, value) => Math.max(highest, value), high),
  ];
}

/**
 * Asserts that there is at least one value and that all are finite.
 *
 * @throws AgentLightningError with code `INVALID_REWARD` when there is no value or one is not finite
 */
export function assertFinite(values: readonly number[]): void {
  const position = values.findIndex((value) => !Number.isFinite(value));
  if (values.length > 0 && position === -1) return;
  const message = values.length === 0 ? 'There is no reward' : `Reward ${position} is ${values[position]}`;
  throw new AgentLightningError({ code: 'INVALID_REWARD', message: `${message}; a mean needs finite numbers` });
}

function wilson(p: number, n: number, confidence: number): { readonly low: number; readonly high: number } {
  const z = twoSidedQuantile(confidence, Infinity);
  const centre = p + (z * z) / (2 * n);
  const margin = z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
  const scale = 1 + (z * z) / n;
  // Rounding must not push a bound beyond the range.
  return { low: Math.max(0, (centre - margin) / scale), high: Math.min(1, (centre + margin) / scale) };
}
