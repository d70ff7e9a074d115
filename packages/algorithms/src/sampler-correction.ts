import { z } from 'zod';

/**
 * Correction for sequences that were not sampled by exactly the policy in training: by older weights, or by an engine with
 * different arithmetic. With `q` the probability at sampling and `p` the probability under the weights in training, before
 * the step, `ρ = p / q` of a token, or of all trained tokens of a row together.
 *
 * - `truncate`: the token's weight is multiplied by `min(ρ, max)` (truncated importance sampling, Ionides 2008). Bounded
 *   variance; truncated ratios are biased towards the old policy.
 * - `mask`: it is multiplied by `ρ` where `min ≤ ρ ≤ max`, else by 0.
 */
export interface SamplerCorrection {
  /** Whether ratios are truncated, or their tokens excluded. */
  readonly type: 'truncate' | 'mask';
  /**
   * `token`: each separately. `sequence`: the product over the row's trained tokens, for all of them. Turns excluded from
   * training, such as stale ones, do not count. @default 'token'
   */
  readonly level?: 'token' | 'sequence';
  /** The largest `ρ`, at least 1. @default 2 for tokens, 5 for sequences */
  readonly max?: number;
  /** The smallest `ρ` that `mask` accepts, at most 1. @default 0 */
  readonly min?: number;
}

/** The shape of {@link SamplerCorrection}. */
export const samplerCorrectionSchema: z.ZodType<SamplerCorrection> = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('truncate'),
    level: z.enum(['token', 'sequence']).exactOptional(),
    max: z.number().min(1).exactOptional(),
  }),
  z.strictObject({
    type: z.literal('mask'),
    level: z.enum(['token', 'sequence']).exactOptional(),
    max: z.number().min(1).exactOptional(),
    min: z.number().min(0).max(1).exactOptional(),
  }),
]);

/** Log-ratios are clamped to ±20 before exponentiation, as in the losses of the runtime contract. */
const maxLogRatio = 20;

/** Effective bounds, with defaults. */
export interface CorrectionBounds {
  readonly min: number;
  readonly max: number;
}

/** The smallest and largest ratio that a correction accepts. */
export function boundsOf({ level = 'token', max, min }: SamplerCorrection): CorrectionBounds {
  return { min: min ?? 0, max: max ?? (level === 'token' ? 2 : 5) };
}

/** Options of {@link samplerRatios}. */
export interface SamplerRatioOptions {
  /** @default 'token' */
  readonly level?: 'token' | 'sequence' | undefined;
  /** Whether a token is trained. @default all tokens */
  readonly isTrained?: (token: number) => boolean;
}

/**
 * The ratios `ρ` of a row's sampled tokens: one per token, or at level `sequence` the product over the trained tokens.
 *
 * @param currentLogprobs - natural-log probabilities under the weights in training
 * @param samplingLogprobs - natural-log probabilities at sampling
 */
export function samplerRatios(
  currentLogprobs: ArrayLike<number>,
  samplingLogprobs: ArrayLike<number>,
  { level = 'token', isTrained = () => true }: SamplerRatioOptions = {},
): Float64Array {
  const differences = Float64Array.from(
    { length: currentLogprobs.length },
    (_, token) => (currentLogprobs[token] ?? 0) - (samplingLogprobs[token] ?? 0),
  );
  const bounded = (value: number): number => Math.exp(Math.min(maxLogRatio, Math.max(-maxLogRatio, value)));
  if (level === 'token') return differences.map(bounded);
  const ofRow = bounded(differences.reduce((sum, difference, token) => (isTrained(token) ? sum + difference : sum), 0));
  return differences.fill(ofRow);
}

/** The factor of each token's weight, given its ratio. */
export function correctionFactors(ratios: Float64Array, correction: SamplerCorrection): Float32Array {
  const { min, max } = boundsOf(correction);
  const factor = (ratio: number): number => {
    if (correction.type === 'truncate') return Math.min(ratio, max);
    return ratio >= min && ratio <= max ? ratio : 0;
  };
  return Float32Array.from(ratios, factor);
}
