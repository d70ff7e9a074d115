import {
  type Attempt,
  type AttemptStatus,
  NotFoundError,
  type Rollout,
  type RolloutStatus,
} from '@agentlightning/core';
import { assertId } from '@agentlightning/core/protocol';
import {
  IllegalTransitionError,
  isTerminalAttemptStatus,
  isTerminalRolloutStatus,
  newId,
  rolloutStatusFromAttempt,
} from '@agentlightning/core/store';
import { type AttemptRecord, attemptFromRow, type RolloutRecord } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger } from '../../sql/row-value.ts';
import { moveRollout } from './rollout-record.ts';
import { markWorkerBusy, releaseWorker } from './worker-record.ts';

/** Options of a new attempt. */
export interface OpenAttemptOptions {
  readonly workerId: string | null;
  /** Lease in milliseconds; null when the attempt was not claimed from the queue. */
  readonly claimLeaseMs: number | null;
}

/** Opens the rollout's next attempt. The caller sets the rollout's status. */
export async function openAttempt(
  context: OperationContext,
  rolloutId: string,
  options: OpenAttemptOptions,
): Promise<Attempt> {
  assertId('workerId', options.workerId);
  const [row] = await context.db.all(
    'SELECT coalesce(max(sequence_id), 0) AS last FROM attempts WHERE rollout_id = ?',
    [rolloutId],
  );
  const attempt: Attempt = {
    rolloutId,
    attemptId: newId('attempt'),
    sequenceId: (row === undefined ? 0 : readInteger(row, 'last')) + 1,
    status: 'preparing',
    workerId: options.workerId,
    startTimeMs: context.nowMs,
    endTimeMs: null,
    lastHeartbeatTimeMs: null,
    metadata: null,
  };
  const leaseUntilMs = options.claimLeaseMs === null ? null : context.nowMs + options.claimLeaseMs;
  await context.db.run(
    `INSERT INTO attempts (rollout_id, attempt_id, sequence_id, status, worker_id, start_time_ms, lease_until_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    [
      rolloutId,
      attempt.attemptId,
      attempt.sequenceId,
      attempt.status,
      attempt.workerId,
      attempt.startTimeMs,
      leaseUntilMs,
    ],
  );
  await context.db.run('UPDATE rollouts SET latest_attempt_id = ?, reward = NULL, label = NULL WHERE rollout_id = ?', [
    attempt.attemptId,
    rolloutId,
  ]);
  if (attempt.workerId !== null) await markWorkerBusy(context, attempt.workerId, attempt);
  recordAttemptChange(context, attempt);
  return attempt;
}

/** Records a change notification of an attempt. */
export function recordAttemptChange(context: OperationContext, attempt: Attempt): void {
  const { rolloutId, attemptId, status } = attempt;
  context.changes.record({ kind: 'attempt', rolloutId, attemptId, status });
}

/**
 * Loads an attempt; the id `latest` refers to the rollout's latest one.
 *
 * @throws NotFoundError when it does not exist
 */
export async function loadAttempt(
  context: OperationContext,
  record: RolloutRecord,
  attemptId: string,
): Promise<AttemptRecord> {
  const id = attemptId === 'latest' ? record.latestAttemptId : attemptId;
  const [row] = await context.db.all('SELECT * FROM attempts WHERE rollout_id = ? AND attempt_id = ?', [
    record.rollout.rolloutId,
    id,
  ]);
  if (row === undefined) throw new NotFoundError('Attempt', `${attemptId} of rollout ${record.rollout.rolloutId}`);
  return {
    attempt: attemptFromRow(row),
    isCounted: readInteger(row, 'is_counted') === 1,
    isGivenBack: readInteger(row, 'is_given_back') === 1,
  };
}

/** A status transition of an attempt. */
export interface AttemptMove {
  readonly to: AttemptStatus;
  /** Whether it counts towards the rollout's `maxAttempts`. @default true */
  readonly isCounted?: boolean;
  /** Whether its rollout returns to the queue because no worker runs it. @default false */
  readonly isGivenBack?: boolean;
  /** The new status of the rollout; null leaves it unchanged. @default determined by its retry policy */
  readonly rolloutStatus?: RolloutStatus | null;
}

/**
 * Moves an attempt to another status. If it is the latest and was open, it also moves its rollout, unless the rollout
 * is finished.
 */
export async function moveAttempt(
  context: OperationContext,
  records: { readonly record: RolloutRecord; readonly attempt: Attempt },
  move: AttemptMove,
): Promise<{ readonly rollout: Rollout; readonly attempt: Attempt }> {
  const { record, attempt } = records;
  if (isTerminalAttemptStatus(attempt.status) && isOpen(move.to)) {
    throw new IllegalTransitionError(
      `Attempt ${attempt.attemptId} of rollout ${attempt.rolloutId}`,
      attempt.status,
      move.to,
    );
  }
  const moved: Attempt = { ...attempt, status: move.to, endTimeMs: endTimeAfter(context, attempt, move.to) };
  await context.db.run(
    `UPDATE attempts SET status = ?, end_time_ms = ?, is_counted = ?, is_given_back = ?
     WHERE rollout_id = ? AND attempt_id = ?`,
    [
      moved.status,
      moved.endTimeMs,
      (move.isCounted ?? true) ? 1 : 0,
      move.isGivenBack === true ? 1 : 0,
      attempt.rolloutId,
      attempt.attemptId,
    ],
  );
  recordAttemptChange(context, moved);
  if (attempt.workerId !== null) {
    if (isOpen(move.to)) await markWorkerBusy(context, attempt.workerId, moved);
    else await releaseWorker(context, attempt.workerId, moved);
  }
  const decides =
    record.latestAttemptId === attempt.attemptId &&
    !isTerminalAttemptStatus(attempt.status) &&
    !isTerminalRolloutStatus(record.rollout.status);
  if (!decides || move.rolloutStatus === null) return { rollout: record.rollout, attempt: moved };
  const to = move.rolloutStatus ?? (await nextStatus(context, record.rollout, moved));
  return { rollout: await moveRollout(context, record.rollout, to), attempt: moved };
}

/** Closes the open attempts of a rollout without moving the rollout, and returns them. */
export async function closeOpenAttempts(
  context: OperationContext,
  record: RolloutRecord,
  move: Pick<AttemptMove, 'to' | 'isCounted' | 'isGivenBack'>,
): Promise<readonly Attempt[]> {
  const rows = await context.db.all(
    "SELECT * FROM attempts WHERE rollout_id = ? AND status IN ('preparing', 'running') ORDER BY sequence_id",
    [record.rollout.rolloutId],
  );
  const closed: Attempt[] = [];
  for (const row of rows) {
    const moved = await moveAttempt(
      context,
      { record, attempt: attemptFromRow(row) },
      { ...move, rolloutStatus: null },
    );
    closed.push(moved.attempt);
  }
  return closed;
}

function endTimeAfter(context: OperationContext, attempt: Attempt, to: AttemptStatus): number | null {
  if (isOpen(to)) return null;
  // A late result corrects the status of a finished attempt but not its end time.
  return isTerminalAttemptStatus(attempt.status) ? attempt.endTimeMs : context.nowMs;
}

/** Whether an attempt with this status may be running. */
export function isOpen(status: AttemptStatus): boolean {
  return status === 'preparing' || status === 'running';
}

/** The rollout's status after a transition of its latest attempt. Uncounted attempts are ignored. */
async function nextStatus(context: OperationContext, rollout: Rollout, attempt: Attempt): Promise<RolloutStatus> {
  const [row] = await context.db.all(
    'SELECT count(*) AS counted FROM attempts WHERE rollout_id = ? AND sequence_id <= ? AND is_counted = 1',
    [rollout.rolloutId, attempt.sequenceId],
  );
  return rolloutStatusFromAttempt(attempt.status, {
    sequenceId: row === undefined ? attempt.sequenceId : readInteger(row, 'counted'),
    maxAttempts: rollout.config.maxAttempts,
    retryCondition: rollout.config.retryCondition,
  });
}
