import { mean } from '../advantage/sample-statistics.ts';

/** A response with a verdict. */
export interface LabelledResponse {
  /** Log-probability under the policy minus that under the reference, summed over the response, in nats. */
  readonly logRatio: number;
  readonly isDesirable: boolean;
}

/** Options of {@link unpairedLosses}. */
export interface UnpairedLossOptions {
  /** @default 0.1 */
  readonly beta?: number;
  /** @default 1 */
  readonly desirableWeight?: number;
  /** @default 1 */
  readonly undesirableWeight?: number;
}

/** The losses of labelled responses and their gradients, in input order. */
export interface UnpairedLosses {
  readonly losses: readonly number[];
  /** Minus the derivative of each loss by the log-probability of its response. */
  readonly pulls: readonly number[];
  /** The reference point, at least 0. */
  readonly kl: number;
}

/**
 * Kahneman-Tversky optimisation with a logistic value function. With the reference point `z`, the loss of a desirable response
 * is `w·(1 - σ(β·(r - z)))`, of an undesirable one `w·(1 - σ(β·(z - r)))`. Ethayarajh et al., arXiv 2402.01306, equation 8.
 * No gradient flows through `z`.
 *
 * @param mismatchedRatios - the log-ratios of responses to other prompts, whose mean estimates `z`
 */
export function unpairedLosses(
  responses: readonly LabelledResponse[],
  mismatchedRatios: readonly number[],
  { beta = 0.1, desirableWeight = 1, undesirableWeight = 1 }: UnpairedLossOptions,
): UnpairedLosses {
  const kl = mismatchedRatios.length === 0 ? 0 : Math.max(0, mean(mismatchedRatios));
  const terms = responses.map(({ logRatio, isDesirable }) => {
    const sign = isDesirable ? 1 : -1;
    const weight = isDesirable ? desirableWeight : undesirableWeight;
    const value = 1 / (1 + Math.exp(-beta * sign * (logRatio - kl)));
    return { loss: weight * (1 - value), pull: sign * weight * beta * value * (1 - value) };
  });
  return { losses: terms.map(({ loss }) => loss), pulls: terms.map(({ pull }) => pull), kl };
}
