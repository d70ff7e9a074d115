import type { TrainedInterval, Trajectory, TrajectoryRow } from '@agentlightning/core/algorithm';

/** How long a row may be. */
export interface RowLengthLimit {
  /** In tokens, prompt and responses together; at least 2. */
  readonly maxTokens: number;
  /**
   * What happens to a longer row. `drop` leaves it out. `truncate` cuts its end off and trains on the rest,
   * which then gets the credit of an outcome that depended on what was cut.
   */
  readonly tooLong: 'drop' | 'truncate';
}

/** A trajectory whose rows are short enough. */
export interface LimitedTrajectory {
  readonly trajectory: Trajectory;
  /** Rows that were left out, because they were too long or because nothing trained was left of them. */
  readonly dropped: number;
  /** Rows that were cut. */
  readonly truncated: number;
}

/** Drops or cuts the rows that are too long. The trajectory keeps its reward, even if no row is left. */
export function limitRowLength(trajectory: Trajectory, limit: RowLengthLimit): LimitedTrajectory {
  const rows: TrajectoryRow[] = [];
  let truncated = 0;
  for (const row of trajectory.rows) {
    if (row.tokenIds.length <= limit.maxTokens) {
      rows.push(row);
      continue;
    }
    const cut = limit.tooLong === 'truncate' ? truncate(row, limit.maxTokens) : null;
    if (cut === null) continue;
    truncated += 1;
    rows.push(cut);
  }
  const isTruncated = lastPlace(rows) !== lastPlace(trajectory.rows);
  return {
    trajectory: { ...trajectory, rows, ...(isTruncated ? { isTruncated } : {}) },
    dropped: trajectory.rows.length - rows.length,
    truncated,
  };
}

/** Which call the last turn is of, and how many tokens it has: other than before when the end was cut off. */
function lastPlace(rows: readonly TrajectoryRow[]): string {
  const turns = rows.flatMap(({ trained }) => trained);
  const last = turns.reduce((max, { sequenceId }) => Math.max(max, sequenceId), -Infinity);
  const tokens = turns.reduce((sum, { sequenceId, start, end }) => sum + (sequenceId === last ? end - start : 0), 0);
  return `${last}:${tokens}`;
}

function truncate(row: TrajectoryRow, maxTokens: number): TrajectoryRow | null {
  const trained = row.trained
    .filter((interval) => interval.start < maxTokens)
    .map((interval): TrainedInterval => ({ ...interval, end: Math.min(interval.end, maxTokens) }));
  if (trained.length === 0) return null;
  const trainedTokens = trained.reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    tokenIds: row.tokenIds.slice(0, maxTokens),
    trained,
    samplingLogprobs: row.samplingLogprobs.slice(0, trainedTokens),
    temperature: row.temperature,
  };
}
