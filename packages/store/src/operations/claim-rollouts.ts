import { type AttemptedRollout, ValidationError } from '@agentlightning/core';
import { assertId } from '@agentlightning/core/protocol';
import type { OperationContext } from '../operation.ts';
import { readInteger, readText } from '../row-value.ts';
import type { SqlValue } from '../sql-value.ts';
import { loadAttempt, openAttempt } from './attempt-record.ts';
import { isQueued, loadRollout, moveRollout, withAttempt } from './rollout-record.ts';
import { markWorkerDequeued } from './worker-record.ts';

/** What to take from the queue, and for whom. */
export interface ClaimRequest {
  readonly workerId: string | null;
  readonly limit: number;
  /** Only rollouts of this run; null for any. */
  readonly runId: string | null;
  readonly claimLeaseMs: number;
}

/** Takes the first rollouts of the queue and opens an attempt for each. */
export async function claimRollouts(
  context: OperationContext,
  request: ClaimRequest,
): Promise<readonly AttemptedRollout[]> {
  assertId('workerId', request.workerId);
  const claimed: AttemptedRollout[] = [];
  let places = await takeFromQueue(context, request);
  for (let rolloutId = places.shift(); rolloutId !== undefined; rolloutId = places.shift()) {
    const { rollout } = await loadRollout(context, rolloutId);
    // Somebody cancelled it while we waited for it, and left its place in the queue to us.
    if (!isQueued(rollout.status)) {
      if (places.length === 0 && claimed.length === 0) places = await takeFromQueue(context, request);
      continue;
    }
    const moved = await moveRollout(context, rollout, 'preparing');
    claimed.push(withAttempt(moved, await openAttempt(context, rolloutId, request)));
  }
  if (claimed.length > 0 && request.workerId !== null) await markWorkerDequeued(context, request.workerId);
  return claimed;
}

/** Whether anything stands in the queue. */
export async function isAnythingQueued(context: OperationContext): Promise<boolean> {
  const rows = await context.db.all('SELECT 1 AS one FROM queue LIMIT 1');
  return rows.length > 0;
}

/** What is remembered of a claim, to answer it again. */
export function claimedIds(claimed: readonly AttemptedRollout[]): string {
  return JSON.stringify(claimed.map(({ rolloutId, attempt }) => [rolloutId, attempt.attemptId]));
}

/** Reads what was claimed, from what is remembered of it. */
export async function readClaimed(context: OperationContext, remembered: string): Promise<readonly AttemptedRollout[]> {
  const ids = JSON.parse(remembered) as readonly (readonly [rolloutId: string, attemptId: string])[];
  const claimed: AttemptedRollout[] = [];
  for (const [rolloutId, attemptId] of ids) {
    const record = await loadRollout(context, rolloutId);
    claimed.push(withAttempt(record.rollout, (await loadAttempt(context, record, attemptId)).attempt));
  }
  return claimed;
}

/**
 * Refuses a number of rollouts that cannot be claimed.
 *
 * @throws ValidationError unless it is a whole number of at least 1
 */
export function assertClaimLimit(limit: number): void {
  if (Number.isSafeInteger(limit) && limit >= 1) return;
  throw new ValidationError('Claim', [
    { path: 'limit', message: `must be a whole number of at least 1, got ${limit}` },
  ]);
}

async function takeFromQueue(context: OperationContext, request: ClaimRequest): Promise<string[]> {
  const { skipLocked } = context.dialect;
  const ofRun = request.runId === null ? '' : 'WHERE q.run_id = ?';
  const parameters: SqlValue[] = request.runId === null ? [request.limit] : [request.runId, request.limit];
  // Where others write meanwhile, the rollouts are locked with their places in the queue: somebody may be cancelling
  // one. Materialized, because a selection that locks must run once.
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
