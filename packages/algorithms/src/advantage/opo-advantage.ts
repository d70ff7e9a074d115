import type { AdvantageEstimator } from '@agentlightning/core';
import { estimateByGroup } from './estimate-by-group.ts';
import { weightedMean } from './sample-statistics.ts';

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
