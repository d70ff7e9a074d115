import { ValidationError } from '@agentlightning/core';
import type { SequenceScores, Trajectory, TrajectoryRow } from '@agentlightning/core/algorithm';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { trainingDatum } from '../rows/training-datum.ts';

/** Scores of a row's trained tokens: natural-log probabilities under policies other than the sampler, and values. */
export interface RowScores {
  /** Under the weights in training. */
  readonly current: Float32Array | null;
  /** Under the initial model of the run. */
  readonly reference: Float32Array | null;
  /** Values predicted before each token. */
  readonly critic: Float32Array | null;
  /** Under the teacher, which may have another prompt. */
  readonly teacher: Float32Array | null;
}

/** Scores by row. */
export type ScoresByRow = ReadonlyMap<TrajectoryRow, RowScores>;

/** All rows, in order, as data for scoring. */
export function scoringData(trajectories: readonly Trajectory[], policyVersion: number): readonly TrainingDatum[] {
  return trajectories.flatMap((trajectory) =>
    trajectory.rows.flatMap((row): readonly TrainingDatum[] => {
      const advantages = row.trained.map(() => 0);
      const datum = trainingDatum({ trajectory, row, advantages, weight: 1, currentPolicyVersion: policyVersion });
      return datum === null ? [] : [datum];
    }),
  );
}

/**
 * Assigns scores to rows.
 *
 * @param scores - the results for {@link scoringData} of the same trajectories
 * @throws ValidationError when a list has another length than the rows, or an array than the row's trained tokens
 */
export function scoresByRow(trajectories: readonly Trajectory[], scores: SequenceScores): ScoresByRow {
  const rows = trajectories.flatMap((trajectory) => trajectory.rows);
  const issues = Object.entries(scores).flatMap(([policy, arrays]) => lengthIssues(policy, arrays, rows));
  if (issues.length > 0) throw new ValidationError('The scores of the step', issues);
  return new Map(
    rows.map((row, index) => [
      row,
      {
        current: scores.current?.[index] ?? null,
        reference: scores.reference?.[index] ?? null,
        critic: scores.critic?.[index] ?? null,
        teacher: scores.teacher?.[index] ?? null,
      },
    ]),
  );
}

function lengthIssues(
  policy: string,
  arrays: readonly Float32Array[],
  rows: readonly TrajectoryRow[],
): readonly { readonly path: string; readonly message: string }[] {
  if (arrays.length !== rows.length) {
    return [{ path: policy, message: `there are ${arrays.length} arrays for ${rows.length} rows` }];
  }
  return rows.flatMap(({ samplingLogprobs }, index) => {
    const given = arrays[index]?.length ?? 0;
    const expected = samplingLogprobs.length;
    if (given === expected) return [];
    return [{ path: `${policy}[${index}]`, message: `it has ${given} entries for ${expected} trained tokens` }];
  });
}
