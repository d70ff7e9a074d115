import type {
  AttemptTraining,
  CallTraining,
  TrainingExclusion,
  Trajectory,
  TrajectoryRow,
} from '@agentlightning/core/algorithm';
import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';
import type { ScoresByRow } from '../rows/row-scores.ts';
import type { RowColumns } from '../rows/training-datum.ts';

/** The trajectories that remain after a selection, and the reason for excluding the others. */
export interface SelectionStage {
  readonly scored: readonly ScoredTrajectory[];
  readonly exclusion: TrainingExclusion;
}

/** The trajectories of a training step. */
export interface PlannedTrajectories {
  readonly trajectories: readonly Trajectory[];
  /** The selections in order; the first one has the trajectories with advantages. */
  readonly stages: readonly SelectionStage[];
  /** Advantages by token, if they differ within a turn. */
  readonly columns: ReadonlyMap<TrajectoryRow, RowColumns>;
  /** Scores of the rows; empty when the step has none. */
  readonly scores: ScoresByRow;
}

/** The advantage of each model call of a step, or the first selection that excludes it. */
export function attemptTrainings({
  trajectories,
  stages,
  columns,
  scores,
}: PlannedTrajectories): readonly AttemptTraining[] {
  const selections = stages.map(({ scored, exclusion }) => ({
    exclusion,
    advantages: new Map(scored.map(({ trajectory, advantages }) => [keyOf(trajectory), advantages])),
  }));
  return trajectories.map((trajectory) => ({
    rolloutId: trajectory.rolloutId,
    attemptId: trajectory.attemptId,
    calls: trajectory.rows.flatMap((row, rowIndex) => {
      const byToken = columns.get(row)?.advantages ?? null;
      const logprobs = scores.get(row)?.current ?? null;
      let offset = 0;
      return row.trained.map(({ start, end, sequenceId }, turn): CallTraining => {
        const from = offset;
        offset += end - start;
        let advantage: number | null = null;
        for (const { exclusion, advantages } of selections) {
          advantage = advantages.get(keyOf(trajectory))?.[rowIndex]?.[turn] ?? null;
          if (advantage === null) return { sequenceId, advantage, ...untrained, exclusion };
        }
        const trainerLogprobs = logprobs === null ? null : [...logprobs.slice(from, offset)];
        const estimated = advantagesOf(advantage, byToken?.slice(from, offset) ?? null);
        return { sequenceId, ...estimated, trainerLogprobs, exclusion: null };
      });
    }),
  }));
}

const untrained = { tokenAdvantages: null, trainerLogprobs: null };

function keyOf({ rolloutId, attemptId }: Trajectory): string {
  return `${rolloutId}/${attemptId}`;
}

function advantagesOf(
  ofTurn: number | null,
  byToken: Float32Array | null,
): Pick<CallTraining, 'advantage' | 'tokenAdvantages'> {
  const [first] = byToken ?? [];
  if (byToken === null || first === undefined) return { advantage: ofTurn, tokenAdvantages: null };
  if (byToken.every((value) => value === first)) return { advantage: first, tokenAdvantages: null };
  const mean = byToken.reduce((sum, value) => sum + value, 0) / byToken.length;
  return { advantage: mean, tokenAdvantages: [...byToken] };
}
