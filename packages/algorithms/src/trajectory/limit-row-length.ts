import type { TrainedInterval, Trajectory, TrajectoryRow } from '@agentlightning/core/algorithm';

/** Maximum row length. */
export interface RowLengthLimit {
  /** In tokens, prompt and responses together; at least 2. */
  readonly maxTokens: number;
  /**
   * Treatment of longer rows. `drop` excludes the row. `truncate` removes its end and trains on the rest, which is then
   * credited with an outcome that depended on the removed part.
   */
  readonly tooLong: 'drop' | 'truncate';
}

/** A trajectory with limited rows. */
export interface LimitedTrajectory {
  /** The trajectory, within the limit. */
  readonly trajectory: Trajectory;
  /** Number of dropped rows, including rows without trained tokens after truncation. */
  readonly dropped: number;
  /** Number of truncated rows. */
  readonly truncated: number;
}

/** Drops or truncates rows that are too long. The trajectory keeps its reward, even without rows. */
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

/** Call and length of the last turn, which differ when the end was removed. */
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
    ...(row.images && { images: row.images.filter(({ turn }) => turn < trained.length) }),
  };
}
