import type { AdvantageEstimator } from '@agentlightning/core/algorithm';
import { estimateByGroup } from './estimate-by-group.ts';
import { whiteningByTokens } from './whiten-by-tokens.ts';

/**
 * Each return relative to the whole batch, regardless of task: `A_i = (R_i - μ) / sqrt(σ² + 1e-8)`, mean and sample variance
 * over all trained tokens. It does not need groups: one rollout per task is enough, if tasks are of similar difficulty. The
 * batch counts as one group: a single return, or equal returns, get 0.
 *
 * REINFORCE++: Hu et al., arXiv 2501.03262. With per-turn credit and a discount, `R` is the return-to-go.
 *
 * @example
 * ```ts
 * reinforcePlusPlusAdvantage().estimate(returns).advantages; // [0.866, -0.866] for returns 1, 0 of two tokens each
 * ```
 */
export function reinforcePlusPlusAdvantage(): AdvantageEstimator {
  return {
    name: 'reinforce++',
    estimate: (returns) =>
      estimateByGroup(
        returns.map((each) => ({ ...each, groupId: 'batch' })),
        (values, trainedTokens) => {
          const whiten = whiteningByTokens(
            values.map((value, index) => ({ value, trainedTokens: trainedTokens[index] ?? 0 })),
          );
          return values.map(whiten);
        },
      ),
  };
}
