import type { AdvantageEstimator } from '@agentlightning/core';
import { estimateByGroup } from './estimate-by-group.ts';
import { mean } from './sample-statistics.ts';

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
