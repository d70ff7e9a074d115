import type { Attempt } from '@agentlightning/core';
import type { AttemptQuery } from '@agentlightning/core/store';
import { attemptFromRow } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { equals, type ListPage, type PageWindow, readPage } from '../../sql/page.ts';

/** Lists a rollout's attempts, oldest first by default. */
export function queryAttempts(
  context: OperationContext,
  { rolloutId, query }: { readonly rolloutId: string; readonly query: AttemptQuery },
  window: PageWindow,
): Promise<ListPage<Attempt>> {
  return readPage(context, {
    columns: '*',
    from: 'attempts',
    conditions: [equals('rollout_id', rolloutId)],
    sortColumns: {
      sequenceId: 'sequence_id',
      startTimeMs: 'start_time_ms',
      endTimeMs: 'end_time_ms',
      status: 'status',
      attemptId: 'attempt_id',
      workerId: 'worker_id',
      lastHeartbeatTimeMs: 'last_heartbeat_time_ms',
    },
    tieBreaker: 'sequence_id',
    query,
    window,
    toItem: (row) => attemptFromRow(row),
  });
}

/** The columns that {@link selectLatestAttempt} reads, in order. */
export const latestAttemptColumns = [
  'rollout_id',
  'attempt_id',
  'sequence_id',
  'status',
  'worker_id',
  'start_time_ms',
  'end_time_ms',
  'last_heartbeat_time_ms',
  'metadata',
] as const;

/**
 * Selects the latest attempt of a rollout by the highest sequence id, which reads half as many database pages as a
 * join with the rollout.
 */
export const selectLatestAttempt: string = `SELECT ${latestAttemptColumns.join(', ')} FROM attempts
   WHERE rollout_id = ? ORDER BY sequence_id DESC LIMIT 1`;

/** Reads a rollout's latest attempt; null when it was never claimed. */
export async function getLatestAttempt(context: OperationContext, rolloutId: string): Promise<Attempt | null> {
  const [row] = await context.db.all(selectLatestAttempt, [rolloutId]);
  return row === undefined ? null : attemptFromRow(row);
}
