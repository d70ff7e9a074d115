import type { Trajectory, TrajectoryRow } from '@agentlightning/core';
import { type KlEstimator, type KlPenalty, klEstimate } from '../kl-estimate.ts';
import type { ScoresByRow } from '../trajectory/row-scores.ts';

/**
 * The reward with the estimated KL divergence from the reference policy taken off: `R - β·Σ_t kl(log q_t - log ref_t)`, over all
 * trained tokens of the rollout. With k1 it is unbiased in the reward, gradient included, while the same as a loss term
 * has no expected gradient (RLOO: arXiv 2402.14740; RLHF: arXiv 2203.02155). The others are never below 0, and biased.
 *
 * A rollout without a reward stays without.
 */
export function withKlPenalty(trajectory: Trajectory, scores: ScoresByRow, penalty: KlPenalty): Trajectory {
  if (trajectory.reward === null || penalty.coefficient === 0) return trajectory;
  const divergence = trajectory.rows.reduce((sum, row) => sum + rowDivergence(row, scores, penalty.estimator), 0);
  return { ...trajectory, reward: trajectory.reward - penalty.coefficient * divergence };
}

function rowDivergence(row: TrajectoryRow, scores: ScoresByRow, estimator: KlEstimator): number {
  const reference = scores.get(row)?.reference ?? null;
  if (reference === null) return 0;
  return row.samplingLogprobs.reduce(
    (sum, logprob, token) => sum + klEstimate(logprob - (reference[token] ?? 0), estimator),
    0,
  );
}
