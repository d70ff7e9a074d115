import type { AdvantageEstimator } from '@agentlightning/core/algorithm';
import { estimateByGroup } from './estimate-by-group.ts';
import { mean, weightedMean } from './sample-statistics.ts';

/**
 * Each rollout relative to the mean of the others: `A_i = R_i - (ΣR - R_i) / (n - 1)`, which is `(R_i - mean(R)) · n / (n -
 * 1)`. The baseline does not contain the rollout itself, so the gradient is unbiased at any group size.
 *
 * REINFORCE leave-one-out: Ahmadian et al., arXiv 2402.14740 (and Kool et al. 2019).
 *
 * @example
 * ```ts
 * rlooAdvantage().estimate(returns).advantages; // [0.667, -0.667, -0.667, 0.667] for returns 1, 0, 0, 1
 * ```
 */
export function rlooAdvantage(): AdvantageEstimator {
  return {
    name: 'rloo',
    estimate: (returns) =>
      estimateByGroup(returns, (values) => {
        const centre = mean(values);
        const scale = values.length / (values.length - 1);
        return values.map((value) => (value - centre) * scale);
      }),
  };
}

/**
 * Relative to the length-weighted mean of the group: `A_i = R_i - Σ(l·R) / Σl`, with `l` the number of trained tokens. This
 * baseline minimises the variance of the gradient when the squared gradient norm of a rollout is proportional to its length.
 *
 * On-policy RL with optimal reward baseline: Hao et al., arXiv 2505.23585. Weights are equal when no rollout of the group
 * has trained tokens.
 *
 * @example
 * ```ts
 * opoAdvantage().estimate(returns).advantages; // [0.25, -0.75] for returns 1, 0 of 3 tokens and 1
 * ```
 */
export function opoAdvantage(): AdvantageEstimator {
  return {
    name: 'opo',
    estimate: (returns) =>
      estimateByGroup(returns, (values, trainedTokens) => {
        const baseline = weightedMean(values, trainedTokens);
        return values.map((value) => value - baseline);
      }),
  };
}

/**
 * Group-relative advantage in units of the reward: `A_i = R_i - mean(R)`. Without division by the spread, it follows the
 * gradient of the mean reward itself; rewards should have a similar scale across tasks.
 *
 * Dr. GRPO, arXiv 2503.20783, section 3.1.
 *
 * @example
 * ```ts
 * meanCentredAdvantage().estimate(returns).advantages; // [0.5, -0.5, -0.5, 0.5] for returns 1, 0, 0, 1
 * ```
 */
export function meanCentredAdvantage(): AdvantageEstimator {
  return {
    name: 'dr-grpo',
    estimate: (returns) =>
      estimateByGroup(returns, (values) => {
        const centre = mean(values);
        return values.map((value) => value - centre);
      }),
  };
}
