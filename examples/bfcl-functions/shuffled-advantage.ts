import { createHash } from 'node:crypto';
import { grpoAdvantage } from '@agentlightning/algorithms';
import type { AdvantageEstimator } from '@agentlightning/core/algorithm';

/**
 * GRPO's advantages of rewards that are permuted within the batch: a control, whose rewards have the same distribution and do not
 * depend on the responses. The permutation is a function of the rollout ids, so a resumed run has the same one.
 */
export function shuffledAdvantage(): AdvantageEstimator {
  const grpo = grpoAdvantage();
  return {
    name: 'grpo-shuffled',
    estimate: (returns) => {
      const donors = returns.toSorted((one, other) => (digest(one.rolloutId) < digest(other.rolloutId) ? -1 : 1));
      return grpo.estimate(returns.map((each, index) => ({ ...each, value: donors[index]?.value ?? null })));
    },
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
