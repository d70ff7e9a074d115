import { AgentLightningError } from '@agentlightning/core';
import type { AdvantageEstimator } from '@agentlightning/core/algorithm';
import { estimateByGroup } from './estimate-by-group.ts';
import { mean } from './sample-statistics.ts';

const epsilon = 1e-6;

/**
 * Relative to the success rate of the task: `A_i = (R_i - mean(R)) / (mean(R) + 1e-6)`. For rewards of 0 and 1 it follows
 * the gradient of the log-probability of success rather than of the probability, so rare successes have a larger weight.
 *
 * Maximum likelihood reinforcement learning, arXiv 2602.02710. Rewards must be at least 0: a negative mean would invert the
 * sign of the advantages.
 *
 * @example
 * ```ts
 * maxRlAdvantage().estimate(returns).advantages; // [3, -1, -1, -1] for returns 1, 0, 0, 0
 * ```
 */
export function maxRlAdvantage(): AdvantageEstimator {
  return {
    name: 'maxrl',
    estimate: (returns) =>
      estimateByGroup(returns, (values) => {
        assertNotNegative(values);
        const centre = mean(values);
        return values.map((value) => (value - centre) / (centre + epsilon));
      }),
  };
}

function assertNotNegative(values: readonly number[]): void {
  const lowest = Math.min(...values);
  if (lowest >= 0) return;
  throw new AgentLightningError({
    code: 'INVALID_REWARD',
    message: `The advantage maxrl needs returns of at least 0, but one is ${lowest}`,
    remedy:
      'Shift the reward so that it is never below 0, such as 0 for failure and 1 for success, or choose another advantage.',
    details: { lowest },
  });
}
