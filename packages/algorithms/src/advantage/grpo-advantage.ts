import type { AdvantageEstimator } from '@agentlightning/core/algorithm';
import { estimateByGroup } from './estimate-by-group.ts';
import { mean, standardDeviation } from './sample-statistics.ts';

/** Bounds the advantages of groups with nearly equal returns; the value of the reference implementations. */
const epsilon = 1e-6;

/**
 * Group-relative advantage, in units of the group's spread: `A_i = (R_i - mean(R)) / (std(R) + 1e-6)` with the sample
 * standard deviation (`n - 1`). The weight of a task does not depend on its reward scale; tasks that nearly always or hardly
 * ever succeed have a larger weight than with {@link meanCentredAdvantage}.
 *
 * DeepSeekMath, arXiv 2402.03300, section 4.1.2. A single rollout gets 0, not its raw reward.
 *
 * @example
 * ```ts
 * grpoAdvantage().estimate(returns).advantages; // [0.866, -0.866, -0.866, 0.866] for returns 1, 0, 0, 1
 * ```
 */
export function grpoAdvantage(): AdvantageEstimator {
  return {
    name: 'grpo',
    estimate: (returns) =>
      estimateByGroup(returns, (values) => {
        const centre = mean(values);
        const spread = standardDeviation(values) + epsilon;
        return values.map((value) => (value - centre) / spread);
      }),
  };
}
