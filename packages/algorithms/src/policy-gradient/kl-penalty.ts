import type { PlacedTurn } from '../advantage/placed-turns.ts';
import { type KlPenalty, klEstimate } from '../kl-estimate.ts';
import type { ScoresByRow } from '../trajectory/row-scores.ts';

/**
 * KL penalty of a turn's return: `β·Σ_t kl(log q_t - log ref_t)` over its tokens. In the reward, k1 and its gradient are
 * unbiased, while k1 as a loss term has an expected gradient of 0 (RLOO: arXiv 2402.14740; RLHF: arXiv 2203.02155). k2 and
 * k3 are at least 0 and biased.
 */
export function klPenaltyOf({ row, from, to }: PlacedTurn, scores: ScoresByRow, penalty: KlPenalty): number {
  const reference = penalty.coefficient === 0 ? null : (scores.get(row)?.reference ?? null);
  if (reference === null) return 0;
  const divergence = row.samplingLogprobs
    .slice(from, to)
    .reduce((sum, logprob, token) => sum + klEstimate(logprob - (reference[from + token] ?? 0), penalty.estimator), 0);
  return penalty.coefficient * divergence;
}
