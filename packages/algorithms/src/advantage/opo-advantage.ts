import type { AdvantageEstimator } from '@agentlightning/core';
import { estimateByGroup } from './estimate-by-group.ts';
import { weightedMean } from './sample-statistics.ts';

/**
 * Each rollout against the mean of its group weighted by length: `A_i = R_i - Σ(l·R) / Σl`, with `l` the number of trained
 * tokens. This baseline makes the variance of the gradient smallest when a rollout's squared gradient norm grows with
 * its length.
 *
 * On-policy RL with optimal reward baseline: Hao et al., arXiv 2505.23585. Where no rollout of the group
 * has a trained token, all weigh the same.
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
