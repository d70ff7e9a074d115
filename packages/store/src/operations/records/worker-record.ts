import type { Attempt } from '@agentlightning/core';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { lockRows } from './row-lock.ts';

/** Marks a worker as busy with an attempt. */
export async function markWorkerBusy(context: OperationContext, workerId: string, attempt: Attempt): Promise<void> {
  await context.db.run(
    `INSERT INTO workers (worker_id, status, last_busy_time_ms, current_rollout_id, current_attempt_id)
     VALUES (?, 'busy', ?, ?, ?)
     ON CONFLICT (worker_id) DO UPDATE SET status = excluded.status, last_busy_time_ms = excluded.last_busy_time_ms,
       current_rollout_id = excluded.current_rollout_id, current_attempt_id = excluded.current_attempt_id`,
    [workerId, context.nowMs, attempt.rolloutId, attempt.attemptId],
  );
}

/** Records that a worker claimed rollouts. */
export async function markWorkerDequeued(context: OperationContext, workerId: string): Promise<void> {
  await context.db.run(
    `INSERT INTO workers (worker_id, status, last_dequeue_time_ms) VALUES (?, 'unknown', ?)
     ON CONFLICT (worker_id) DO UPDATE SET last_dequeue_time_ms = excluded.last_dequeue_time_ms`,
    [workerId, context.nowMs],
  );
}

/** Records that a worker found the queue empty. */
export async function markWorkerIdle(context: OperationContext, workerId: string): Promise<void> {
  await markWorkerDequeued(context, workerId);
  await lockRows(context, 'workers', [workerId]);
  const [busyWith] = await context.db.all(
    "SELECT 1 FROM attempts WHERE worker_id = ? AND status IN ('preparing', 'running') LIMIT 1",
    [workerId],
  );
  // A worker with a concurrency above 1 claims while it is busy.
  if (busyWith !== undefined) return;
  await markFree(context, workerId, 'idle');
}

/** Updates a worker after the end of an attempt: idle, unknown after an expiry, or busy with another attempt. */
export async function releaseWorker(context: OperationContext, workerId: string, attempt: Attempt): Promise<void> {
  await lockRows(context, 'workers', [workerId]);
  const [other] = await context.db.all(
    `SELECT rollout_id, attempt_id FROM attempts WHERE worker_id = ? AND status IN ('preparing', 'running')
     ORDER BY start_time_ms DESC LIMIT 1`,
    [workerId],
  );
  if (other !== undefined) {
    await context.db.run(
      "UPDATE workers SET status = 'busy', current_rollout_id = ?, current_attempt_id = ? WHERE worker_id = ?",
      [String(other.rollout_id), String(other.attempt_id), workerId],
    );
    return;
  }
  const isGivenUp = attempt.status === 'timeout' || attempt.status === 'unresponsive';
  await markFree(context, workerId, isGivenUp ? 'unknown' : 'idle');
}

/** A deleted worker stays deleted. */
async function markFree(context: OperationContext, workerId: string, status: 'idle' | 'unknown'): Promise<void> {
  await context.db.run(
    `UPDATE workers SET status = ?, current_rollout_id = NULL, current_attempt_id = NULL,
       last_idle_time_ms = coalesce(?, last_idle_time_ms) WHERE worker_id = ?`,
    [status, status === 'idle' ? context.nowMs : null, workerId],
  );
}
