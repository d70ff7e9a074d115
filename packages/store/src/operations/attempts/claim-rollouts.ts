import { ValidationError } from '@agentlightning/core';
import { assertId } from '@agentlightning/core/protocol';
import type { AttemptedRollout } from '@agentlightning/core/store';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import type { SqlValue } from '../../sql/sql-dialect.ts';
import { loadAttempt, openAttempt } from '../records/attempt-record.ts';
import { isQueued, loadRollout, moveRollout, withAttempt } from '../records/rollout-record.ts';
import { markWorkerDequeued } from '../records/worker-record.ts';

/** Options of a claim. */
export interface ClaimRequest {
  readonly workerId: string | null;
  readonly limit: number;
  /** Claims rollouts of this run only; null for any run. */
  readonly runId: string | null;
  readonly claimLeaseMs: number;
}

/** Dequeues the first rollouts and opens an attempt for each. */
export async function claimRollouts(
  context: OperationContext,
  request: ClaimRequest,
): Promise<readonly AttemptedRollout[]> {
  assertId('workerId', request.workerId);
  const claimed: AttemptedRollout[] = [];
  let queued = await takeFromQueue(context, request);
  for (let rolloutId = queued.shift(); rolloutId !== undefined; rolloutId = queued.shift()) {
    const { rollout } = await loadRollout(context, rolloutId);
    // Cancelled by a concurrent transaction, which left the removal of the queue entry to this one.
    if (!isQueued(rollout.status)) {
      if (queued.length === 0 && claimed.length === 0) queued = await takeFromQueue(context, request);
      continue;
    }
    const moved = await moveRollout(context, rollout, 'preparing');
    claimed.push(withAttempt(moved, await openAttempt(context, rolloutId, request)));
  }
  if (claimed.length > 0 && request.workerId !== null) await markWorkerDequeued(context, request.workerId);
  return claimed;
}

/** Whether the queue is not empty. */
export async function isAnythingQueued(context: OperationContext): Promise<boolean> {
  const rows = await context.db.all('SELECT 1 AS one FROM queue LIMIT 1');
  return rows.length > 0;
}

/** The stored response of a claim: the claimed ids. */
export function claimedIds(claimed: readonly AttemptedRollout[]): string {
  return JSON.stringify(claimed.map(({ rolloutId, attempt }) => [rolloutId, attempt.attemptId]));
}

/** Loads the rollouts of a stored claim. */
export async function readClaimed(context: OperationContext, stored: string): Promise<readonly AttemptedRollout[]> {
  const ids = JSON.parse(stored) as readonly (readonly [rolloutId: string, attemptId: string])[];
  const claimed: AttemptedRollout[] = [];
  for (const [rolloutId, attemptId] of ids) {
    const record = await loadRollout(context, rolloutId);
    claimed.push(withAttempt(record.rollout, (await loadAttempt(context, record, attemptId)).attempt));
  }
  return claimed;
}

/**
 * Checks the limit of a claim.
 *
 * @throws ValidationError unless it is an integer of at least 1
 */
export function assertClaimLimit(limit: number): void {
  if (Number.isSafeInteger(limit) && limit >= 1) return;
  throw new ValidationError('Claim', [{ path: 'limit', message: `must be an integer of at least 1, got ${limit}` }]);
}

async function takeFromQueue(context: OperationContext, request: ClaimRequest): Promise<string[]> {
  const { skipLocked } = context.dialect;
  const ofRun = request.runId === null ? '' : 'WHERE q.run_id = ?';
  const parameters: SqlValue[] = request.runId === null ? [request.limit] : [request.runId, request.limit];
  // With concurrent writers, rollouts are locked with their queue entries because one may be cancelled concurrently.
  // // MATERIALIZED: a locking subquery must run exactly once.
  const queue = skipLocked === '' ? 'queue AS q' : 'queue AS q JOIN rollouts AS r ON r.rollout_id = q.rollout_id';
  const next = `SELECT q.position FROM ${queue} ${ofRun} ORDER BY q.position LIMIT ? ${skipLocked}`;
  const rows = await context.db.all(
    skipLocked === ''
      ? `DELETE FROM queue WHERE position IN (${next}) RETURNING position, rollout_id`
      : `WITH next AS MATERIALIZED (${next})
         DELETE FROM queue WHERE position IN (SELECT position FROM next) RETURNING position, rollout_id`,
    parameters,
  );
  return rows
    .map((row) => ({ position: readInteger(row, 'position'), rolloutId: readText(row, 'rollout_id') }))
    .sort((left, right) => left.position - right.position)
    .map((row) => row.rolloutId);
}
