import type { AttemptStatus } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { readText } from '../row-value.ts';
import { loadAttempt, moveAttempt } from './attempt-record.ts';
import { loadRollout } from './rollout-record.ts';
import { lockRows } from './row-lock.ts';

/** An attempt whose time is up. */
export interface ExpiredAttempt {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** `lease`: claimed, and never heard of since. */
  readonly reason: 'timeout' | 'unresponsive' | 'lease';
}

/** Finds the open attempts that took too long, fell silent, or were claimed by somebody who never came back. */
export async function findExpiredAttempts(context: OperationContext): Promise<readonly ExpiredAttempt[]> {
  // A worker that still sends heartbeats for the attempt keeps its lease: it prepares something slow.
  const rows = await context.db.all(
    `SELECT * FROM (
       SELECT a.rollout_id, a.attempt_id, a.sequence_id, a.start_time_ms, r.position, CASE
         WHEN a.start_time_ms + r.timeout_ms < ? THEN 'timeout'
         WHEN coalesce(a.last_heartbeat_time_ms, a.start_time_ms) + r.unresponsive_ms < ? THEN 'unresponsive'
         WHEN a.status = 'preparing' AND a.last_heartbeat_time_ms IS NULL
           AND coalesce(w.last_heartbeat_time_ms + a.lease_until_ms - a.start_time_ms, a.lease_until_ms) < ?
           AND a.lease_until_ms < ? THEN 'lease'
       END AS reason
       FROM attempts AS a
       JOIN rollouts AS r ON r.rollout_id = a.rollout_id
       LEFT JOIN workers AS w ON w.worker_id = a.worker_id AND w.current_attempt_id = a.attempt_id
       WHERE a.status IN ('preparing', 'running')
     ) AS expired WHERE reason IS NOT NULL ORDER BY start_time_ms, position, sequence_id`,
    [context.nowMs, context.nowMs, context.nowMs, context.nowMs],
  );
  return rows.map((row) => ({
    rolloutId: readText(row, 'rollout_id'),
    attemptId: readText(row, 'attempt_id'),
    reason: readText(row, 'reason') as ExpiredAttempt['reason'],
  }));
}

/** Ends the attempts whose time is up, and gives back how many there were. */
export async function expireAttempts(context: OperationContext): Promise<number> {
  // Found, held, and looked at again: somebody may have ended one, or said that it is alive, in between.
  const suspects = new Set((await findExpiredAttempts(context)).map((attempt) => attempt.rolloutId));
  await lockRows(context, 'rollouts', [...suspects]);
  const expired = (await findExpiredAttempts(context)).filter((attempt) => suspects.has(attempt.rolloutId));
  for (const { rolloutId, attemptId, reason } of expired) {
    const record = await loadRollout(context, rolloutId);
    const { attempt } = await loadAttempt(context, record, attemptId);
    const to: AttemptStatus = reason === 'timeout' ? 'timeout' : 'unresponsive';
    const move = reason === 'lease' ? { to, isCounted: false, rolloutStatus: 'requeuing' as const } : { to };
    await moveAttempt(context, { record, attempt }, move);
  }
  return expired.length;
}
