import type { Trajectory, TrajectoryRow } from '@agentlightning/core';
import type { ScoresByRow } from '../trajectory/row-scores.ts';

/**
 * The reward with the estimated KL divergence from the reference policy taken off: `R - β·Σ_t (log q_t - log ref_t)`,
 * over all trained tokens of the rollout (k1, Schulman 2020). In the reward this estimate is unbiased, gradient
 * included, while the same as a loss term has no expected gradient (RLOO: arXiv 2402.14740; RLHF: arXiv 2203.02155).
 *
 * A rollout without a reward stays without.
 *
 * @param coefficient - `β`, at least 0
 */
export function withKlPenalty(trajectory: Trajectory, scores: ScoresByRow, coefficient: number): Trajectory {
  if (trajectory.reward === null || coefficient === 0) return trajectory;
  const divergence = trajectory.rows.reduce((sum, row) => sum + rowDivergence(row, scores), 0);
  return { ...trajectory, reward: trajectory.reward - coefficient * divergence };
}

function rowDivergence(row: TrajectoryRow, scores: ScoresByRow): number {
  const reference = scores.get(row)?.reference ?? null;
  if (reference === null) return 0;
  return row.samplingLogprobs.reduce((sum, logprob, token) => sum + logprob - (reference[token] ?? 0), 0);
}
