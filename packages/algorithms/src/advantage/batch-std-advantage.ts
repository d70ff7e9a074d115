import type { AdvantageEstimator } from '@agentlightning/core/algorithm';
import { estimateByGroup } from './estimate-by-group.ts';
import { mean, standardDeviation } from './sample-statistics.ts';

/** TRL's value, larger than that of {@link grpoAdvantage}. */
const epsilon = 1e-4;

/**
 * Group-relative advantage in units of the spread of the whole batch:
 * `A_i = (R_i - mean(R)) / (std(R of all groups) + 1e-4)` with the sample standard deviation (`n - 1`). The step does not
 * depend on the scale of rewards, and tasks with a small spread of rewards do not get a larger weight.
 *
 * TRL's `scale_rewards="batch"`, after "Tricks or Traps", arXiv 2508.08221.
 *
 * @example
 * ```ts
 * batchStdAdvantage().estimate(returns).advantages; // [1, -1, 0, 0] times 0.866 for groups 1, 0 and 0.5, 0.5
 * ```
 */
export function batchStdAdvantage(): AdvantageEstimator {
  return {
    name: 'batch-std',
    estimate: (returns) => {
      const spread = standardDeviation(returns.flatMap(({ value }) => (value === null ? [] : [value]))) + epsilon;
      return estimateByGroup(returns, (values) => {
        const centre = mean(values);
        return values.map((value) => (value - centre) / spread);
      });
    },
  };
}
