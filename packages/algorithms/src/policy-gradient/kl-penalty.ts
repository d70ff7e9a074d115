import type { PlacedTurn } from '../advantage/placed-turns.ts';
import { type KlPenalty, klEstimate } from '../kl-estimate.ts';
import type { ScoresByRow } from '../trajectory/row-scores.ts';

/**
 * What a turn's return loses for leaving the reference policy: `β·Σ_t kl(log q_t - log ref_t)` over its tokens. With k1 it is
 * unbiased in the reward, gradient included, while the same as a loss term has no expected gradient (RLOO: arXiv
 * 2402.14740; RLHF: arXiv 2203.02155). The others are never below 0, and biased.
 */
export function klPenaltyOf({ row, from, to }: PlacedTurn, scores: ScoresByRow, penalty: KlPenalty): number {
  const reference = penalty.coefficient === 0 ? null : (scores.get(row)?.reference ?? null);
  if (reference === null) return 0;
  const divergence = row.samplingLogprobs
    .slice(from, to)
    .reduce((sum, logprob, token) => sum + klEstimate(logprob - (reference[from + token] ?? 0), penalty.estimator), 0);
  return penalty.coefficient * divergence;
}
