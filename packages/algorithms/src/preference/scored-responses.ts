import { AgentLightningError } from '@agentlightning/core';
import type { StepContext, Trajectory } from '@agentlightning/core/algorithm';
import { type ScoresByRow, scoresByRow } from '../rows/row-scores.ts';
import type { ScoredResponse } from './preference-loss.ts';

/** The log-probability of all sampled tokens of a rollout, under the policy and under the reference. */
export function scoredResponse({ rows }: Trajectory, scores: ScoresByRow): ScoredResponse {
  const total = (policy: 'current' | 'reference'): number =>
    rows.reduce((sum, row) => sum + sumOf(scores.get(row)?.[policy] ?? new Float32Array()), 0);
  return { current: total('current'), reference: total('reference') };
}

function sumOf(logprobs: Float32Array): number {
  return logprobs.reduce((sum, logprob) => sum + logprob, 0);
}

/**
 * The scores of rollouts under the policy and the reference.
 *
 * @param name - of the algorithm
 * @throws AgentLightningError CONFIG when the step has none
 */
export function comparedScores(
  name: string,
  trajectories: readonly Trajectory[],
  { scores }: StepContext,
): ScoresByRow {
  if (trajectories.length === 0) return new Map();
  if (scores?.current !== undefined && scores.reference !== undefined) return scoresByRow(trajectories, scores);
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `The algorithm ${name} needs the log-probabilities of the current and the reference policy, but received none`,
    remedy:
      'Call `algorithm.scoring(groups, context)` first, score its data, and pass the scores to `planStep` as `context.scores`.',
  });
}
