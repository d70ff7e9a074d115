import type { AdvantageEstimator } from '@agentlightning/core';
import { estimateByGroup } from './estimate-by-group.ts';
import { mean } from './sample-statistics.ts';

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
