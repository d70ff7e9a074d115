import { AgentLightningError } from '@agentlightning/core';
import { mean, standardDeviation } from '../advantage/sample-statistics.ts';
import { twoSidedQuantile } from './student-t.ts';

/** A mean, and the interval in which the true one lies with some confidence. */
export interface MeanInterval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  /** How many values it is the mean of. */
  readonly count: number;
}

/** How sure an interval is to be. */
export interface IntervalOptions {
  /** Share of such intervals that contain the true value, above 0 and below 1. @default 0.95 */
  readonly confidence?: number;
}

/**
 * The mean of rewards with its confidence interval.
 *
 * Rewards that are all 0 or 1 are taken for successes of a Bernoulli variable and get Wilson's score interval,
 * `(p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n)`, which stays in `[0, 1]` and does not shrink to a point when
 * all succeed (Wilson 1927). Others get Student's interval `mean ± t·s/√n`. One reward that is neither 0 nor
 * 1 tells nothing of the spread: its interval is unbounded.
 *
 * @param values - rewards of rollouts that do not depend on each other; at least one
 * @throws AgentLightningError with code `INVALID_REWARD` when there is no value or one is not finite
 *
 * @example
 * ```ts
 * const { mean, low, high } = meanInterval([1, 1, 0, 1]); // 0.75, 0.30, 0.95
 * ```
 */
export function meanInterval(values: readonly number[], options: IntervalOptions = {}): MeanInterval {
  assertFinite(values);
  const confidence = options.confidence ?? 0.95;
  const count = values.length;
  const centre = mean(values);
  if (values.every((value) => value === 0 || value === 1)) return { ...wilson(centre, count, confidence), count };
  if (count === 1) return { mean: centre, low: -Infinity, high: Infinity, count };
  const margin = (twoSidedQuantile(confidence, count - 1) * standardDeviation(values)) / Math.sqrt(count);
  return { mean: centre, low: centre - margin, high: centre + margin, count };
}

/**
 * Makes sure that statistics have something to work on.
 *
 * @throws AgentLightningError with code `INVALID_REWARD` when there is no value or one is not finite
 */
export function assertFinite(values: readonly number[]): void {
  const position = values.findIndex((value) => !Number.isFinite(value));
  if (values.length > 0 && position === -1) return;
  const message = values.length === 0 ? 'There is no reward' : `Reward ${position} is ${values[position]}`;
  throw new AgentLightningError({ code: 'INVALID_REWARD', message: `${message}; a mean needs finite numbers` });
}

function wilson(p: number, n: number, confidence: number): Omit<MeanInterval, 'count'> {
  const z = twoSidedQuantile(confidence, Infinity);
  const centre = p + (z * z) / (2 * n);
  const margin = z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
  const scale = 1 + (z * z) / n;
  // Rounding must not push the bound of a sure success beyond it.
  return { mean: p, low: Math.max(0, (centre - margin) / scale), high: Math.min(1, (centre + margin) / scale) };
}
