import type { Attempt, AttemptQuery, Page } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { equals, readPage } from '../page.ts';
import { attemptFromRow } from '../row.ts';

/** Lists a rollout's attempts, the first one first by default. */
export function queryAttempts(
  context: OperationContext,
  rolloutId: string,
  query: AttemptQuery,
): Promise<Page<Attempt>> {
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
    toItem: (row) => attemptFromRow(row),
  });
}

/** Reads the latest attempt of the rollout with an id. */
export const selectLatestAttempt = `SELECT a.* FROM rollouts AS r JOIN attempts AS a ON a.rollout_id = r.rollout_id AND a.attempt_id = r.latest_attempt_id
   WHERE r.rollout_id = ?`;

/** Reads a rollout's latest attempt; null when it was never claimed. */
export async function getLatestAttempt(context: OperationContext, rolloutId: string): Promise<Attempt | null> {
  const [row] = await context.db.all(selectLatestAttempt, [rolloutId]);
  return row === undefined ? null : attemptFromRow(row);
}
