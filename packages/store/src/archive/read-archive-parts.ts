import type { Rollout, Span } from '@agentlightning/core';
import { withContents } from '../operations/records/contents.ts';
import { type AttemptRecord, attemptFromRow, rolloutFromRow, spanFromRow } from '../rows/row.ts';
import type { OperationContext } from '../sql/operation-runner.ts';
import { readInteger, readText } from '../sql/row-value.ts';

const rolloutsPerPart = 200;
const spansPerPart = 500;

/** A rollout with its attempts, without its spans. */
export interface ExportedRollout {
  readonly rollout: Rollout;
  readonly attempts: readonly Pick<AttemptRecord, 'attempt' | 'isCounted'>[];
  readonly lastSequenceId: number;
}

/** Reads the next rollout ids of a run, after a position. */
export async function readRolloutIds(
  context: OperationContext,
  runId: string,
  after: number | null,
): Promise<readonly { readonly position: number; readonly rolloutId: string }[]> {
  const rows = await context.db.all(
    'SELECT position, rollout_id FROM rollouts WHERE run_id = ? AND position > ? ORDER BY position LIMIT ?',
    [runId, after ?? -1, rolloutsPerPart],
  );
  return rows.map((row) => ({ position: readInteger(row, 'position'), rolloutId: readText(row, 'rollout_id') }));
}

/** Reads a consistent snapshot of a rollout with its attempts; null when it is deleted. */
export async function readExportedRollout(
  context: OperationContext,
  rolloutId: string,
): Promise<ExportedRollout | null> {
  const rows = await context.db.all(
    `SELECT r.*, coalesce(c.last_sequence_id, 0) AS last_sequence_id FROM rollouts AS r
     LEFT JOIN span_counters AS c ON c.rollout_id = r.rollout_id WHERE r.rollout_id = ?`,
    [rolloutId],
  );
  const [row] = await withContents(context, rows, 'input');
  if (row === undefined) return null;
  const attempts = await context.db.all('SELECT * FROM attempts WHERE rollout_id = ? ORDER BY sequence_id', [
    rolloutId,
  ]);
  return {
    rollout: rolloutFromRow(row),
    attempts: attempts.map((attempt) => ({
      attempt: attemptFromRow(attempt),
      isCounted: readInteger(attempt, 'is_counted') === 1,
    })),
    lastSequenceId: readInteger(row, 'last_sequence_id'),
  };
}

/** The position of a span within its rollout. */
export interface SpanPosition {
  readonly sequenceId: number;
  readonly attemptId: string;
  readonly spanId: string;
}

/** Reads the next spans of a rollout, after a position. */
export async function readSpansAfter(
  context: OperationContext,
  rolloutId: string,
  after: SpanPosition | null,
): Promise<readonly Span[]> {
  const { sequenceId, attemptId, spanId } = after ?? { sequenceId: -1, attemptId: '', spanId: '' };
  const rows = await context.db.all(
    `SELECT * FROM spans WHERE rollout_id = ? AND (sequence_id, attempt_id, span_id) > (?, ?, ?)
     ORDER BY sequence_id, attempt_id, span_id LIMIT ?`,
    [rolloutId, sequenceId, attemptId, spanId, spansPerPart],
  );
  return (await withContents(context, rows, 'body')).map(spanFromRow);
}
