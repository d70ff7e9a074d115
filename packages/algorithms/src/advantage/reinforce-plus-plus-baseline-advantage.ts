import type { AdvantageEstimate, AdvantageEstimator, RolloutReturn } from '@agentlightning/core/algorithm';
import { estimateByGroup } from './estimate-by-group.ts';
import { mean } from './sample-statistics.ts';
import { type TiledValue, whiteningByTokens } from './whiten-by-tokens.ts';

/**
 * Each return relative to the mean of its task, in units of the spread over the batch: `x_i = R_i - mean(R)`, `A_i = (x_i -
 * μ) / sqrt(σ² + 1e-8)`, mean and sample variance of `x` over all trained tokens.
 *
 * REINFORCE++ with baseline: Hu et al., arXiv 2501.03262. Groups with a single return or equal returns get exactly 0 and are
 * excluded from `μ` and `σ`; other implementations include them, with advantage `-μ/σ`.
 *
 * @example
 * ```ts
 * reinforcePlusPlusBaselineAdvantage().estimate(returns).advantages; // [0.866, -0.866] for returns 1, 0 of two tokens each
 * ```
 */
export function reinforcePlusPlusBaselineAdvantage(): AdvantageEstimator {
  return { name: 'reinforce++-baseline', estimate: estimateAgainstBaseline };
}

function estimateAgainstBaseline(returns: readonly RolloutReturn[]): AdvantageEstimate {
  const compared: TiledValue[] = [];
  const centred = estimateByGroup(returns, (values, trainedTokens) => {
    const differences = centre(values);
    compared.push(...differences.map((value, index) => ({ value, trainedTokens: trainedTokens[index] ?? 0 })));
    return differences;
  });
  if (compared.length === 0) return centred;
  const whiten = whiteningByTokens(compared);
  return estimateByGroup(returns, (values) => centre(values).map(whiten));
}

function centre(values: readonly number[]): readonly number[] {
  const middle = mean(values);
  return values.map((value) => value - middle);
}
