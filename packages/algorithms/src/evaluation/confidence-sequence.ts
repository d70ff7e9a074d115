import { ValidationError } from '@agentlightning/core';

/** A confidence interval of a mean that holds at all sample sizes at once. */
export interface SequentialInterval {
  /** Mean of the sample; null without values. */
  readonly mean: number | null;
  /** Lower bound of the mean; 0 without values. */
  readonly low: number;
  /** Upper bound of the mean; 1 without values. */
  readonly high: number;
  /** Number of values. */
  readonly count: number;
}

/** The difference of two means, with bounds that hold at all sample sizes at once. */
export interface SequentialComparison {
  /** The mean before. */
  readonly before: SequentialInterval;
  /** The mean after. */
  readonly after: SequentialInterval;
  /** Lower bound of the mean after minus the mean before, in [−1, 1]. */
  readonly low: number;
  /** Upper bound of the difference. */
  readonly high: number;
}

/** Precision of the bounds. */
const precision = 1e-4;

/** Largest share of the capital that one bet risks; Waudby-Smith and Ramdas recommend 1/2 or 3/4. */
const maxStake = 0.75;

/**
 * Compares the means of two independent streams of values in [0, 1]. The bounds hold at every sample size at once, so the streams may
 * be looked at as often as wanted, and the comparison may end at any look: the probability that any look ever excludes the true
 * difference is at most `alpha`. Each stream has an interval of `alpha / 2`, by {@link confidenceSequence}.
 *
 * @param before - values in the order in which they became known; a later look has the same values first
 * @param after - as `before`; the number may differ
 * @throws ValidationError for a value outside of [0, 1], or an `alpha` that is not between 0 and 1
 *
 * @example
 * ```ts
 * const { low } = compareSequentially([0, 1, 0, 0], [1, 1, 1, 1]);
 * const isBetter = low > 0;
 * ```
 */
export function compareSequentially(
  before: readonly number[],
  after: readonly number[],
  { alpha = 0.05 }: { readonly alpha?: number } = {},
): SequentialComparison {
  const [one, other] = [
    confidenceSequence(before, { alpha: alpha / 2 }),
    confidenceSequence(after, { alpha: alpha / 2 }),
  ];
  return { before: one, after: other, low: other.low - one.high, high: other.high - one.low };
}

/**
 * The confidence interval of the mean of values in [0, 1] that holds at every sample size at once: the hedged betting confidence
 * sequence of Waudby-Smith and Ramdas ("Estimating means of bounded random variables by betting", JRSS B 86, 2024, theorem 3), and
 * its running intersection. A gambler bets against each possible mean m; where the capital `∏ (1 ± λᵢ (xᵢ − m))` has once reached
 * `2 / alpha`, m is excluded for good. The stakes λᵢ are the predictable plug-in ones of the paper: they depend on earlier values only.
 *
 * Both capitals are monotone in m, so the bounds are found by bisection.
 *
 * @param values - in the order in which they became known
 * @throws ValidationError for a value outside of [0, 1], or an `alpha` that is not between 0 and 1
 */
export function confidenceSequence(
  values: readonly number[],
  { alpha = 0.05 }: { readonly alpha?: number } = {},
): SequentialInterval {
  if (!(alpha > 0 && alpha < 1)) throw invalid('alpha', `must be between 0 and 1, got ${alpha}`);
  const wrong = values.find((value) => !(value >= 0 && value <= 1));
  if (wrong !== undefined) throw invalid('values', `must be between 0 and 1, got ${wrong}`);
  const stakes = stakesOf(values, alpha);
  const mirrored = values.map((value) => 1 - value);
  const low = lowerBound(values, stakes, alpha);
  const high = 1 - lowerBound(mirrored, stakes, alpha);
  const mean = values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, low: Math.min(low, high), high: Math.max(low, high), count: values.length };
}

/** The stakes before their limit: `√(2 log(2/α) / (σ̂²ᵢ₋₁ · i · log(1 + i)))`, with the variance of the earlier values. */
function stakesOf(values: readonly number[], alpha: number): Float64Array {
  const stakes = new Float64Array(values.length);
  // One value of 1/2 and a variance of 1/4 come before the first value.
  let sum = 0.5;
  let squares = 0.25;
  for (const [index, value] of values.entries()) {
    const count = index + 1;
    const variance = squares / count;
    stakes[index] = Math.sqrt((2 * Math.log(2 / alpha)) / (variance * count * Math.log(1 + count)));
    sum += value;
    squares += (value - sum / (count + 1)) ** 2;
  }
  return stakes;
}

/** The least mean against which the bet that the mean is higher has never won enough. */
function lowerBound(values: readonly number[], stakes: Float64Array, alpha: number): number {
  const threshold = Math.log(2 / alpha);
  let excluded = 0;
  let open = 1;
  while (open - excluded > precision) {
    const middle = (excluded + open) / 2;
    if (hasWon(values, stakes, { mean: middle, threshold })) excluded = middle;
    else open = middle;
  }
  // The excluded end of the bisection: the bound errs to the safe side.
  return excluded;
}

function hasWon(
  values: readonly number[],
  stakes: Float64Array,
  { mean, threshold }: { readonly mean: number; readonly threshold: number },
): boolean {
  const limit = maxStake / mean;
  let capital = 0;
  for (const [index, value] of values.entries()) {
    capital += Math.log1p(Math.min(stakes[index] ?? 0, limit) * (value - mean));
    if (capital >= threshold) return true;
  }
  return false;
}

function invalid(path: string, message: string): ValidationError {
  return new ValidationError('Values of a sequential comparison', [{ path, message }]);
}
