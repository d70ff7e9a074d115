import type { Attempt, AttemptStatus, RolloutStatus } from '@agentlightning/core';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';
import { loadAttempt, moveAttempt } from '../records/attempt-record.ts';
import { isQueued, loadRollout } from '../records/rollout-record.ts';
import { lastSequenceId } from '../records/span-counter.ts';

/** An attempt that receives spans. */
export interface SpanReceiver {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** The span when it is the only one; the same query then checks whether it exists. */
  readonly single: SingleSpan | null;
}

/** A span to look up, and the mark that it adds to its rollout. */
export interface SingleSpan {
  readonly spanId: string;
  /** Null when it adds more than one mark. */
  readonly mark: string | null;
}

/** The state of a rollout that receives spans. */
export interface Recipient {
  /** Its position among all rollouts. */
  readonly position: number;
  /** The last assigned sequence id of its spans. */
  readonly lastSequenceId: number;
  /** Whether the single span is already recorded; null when unknown. */
  readonly isRecorded: boolean | null;
  /** Whether the rollout is known to have the mark. */
  readonly isMarked: boolean;
  readonly rolloutStatus: RolloutStatus;
}

/**
 * Records the heartbeat of a span. The first span of an attempt moves it to running and reopens an unresponsive one.
 * An attempt that was returned to the queue, or whose worker is lost, is left unchanged: its rollout must stay in the queue.
 *
 * @throws NotFoundError when the rollout or attempt does not exist
 */
export async function recordSpanHeartbeat(context: OperationContext, receiver: SpanReceiver): Promise<Recipient> {
  const { rolloutId, attemptId } = receiver;
  const underWay = await findUnderWay(context, receiver);
  if (underWay !== null) {
    await recordHeartbeat(context, rolloutId, attemptId);
    return underWay;
  }
  const record = await loadRollout(context, rolloutId);
  const { attempt, isGivenBack } = await loadAttempt(context, record, attemptId);
  await recordHeartbeat(context, rolloutId, attempt.attemptId);
  const { latestAttemptId, position } = record;
  const isLatest = attempt.attemptId === latestAttemptId;
  if (!isGivenBack && startsRunning(attempt.status, record.rollout.status, isLatest)) {
    const isLost = attempt.status === 'unresponsive' && (await hasLostWorker(context, attempt));
    if (!isLost) await moveAttempt(context, { record, attempt }, { to: 'running' });
  }
  return {
    position,
    lastSequenceId: await lastSequenceId(context, rolloutId),
    isRecorded: null,
    isMarked: false,
    rolloutStatus: record.rollout.status,
  };
}

/** Whether the worker of an attempt is lost, or was deleted. Its model calls may end later. */
async function hasLostWorker({ db, nowMs }: OperationContext, { workerId }: Attempt): Promise<boolean> {
  if (workerId === null) return false;
  const isAlive = 'worker_id = ? AND (lease_ms IS NULL OR last_heartbeat_time_ms + lease_ms > ?)';
  return (await db.all(`SELECT 1 FROM workers WHERE ${isAlive}`, [workerId, nowMs])).length === 0;
}

/** Finds a running attempt, the common case, with one statement; null for every other attempt. */
async function findUnderWay(context: OperationContext, receiver: SpanReceiver): Promise<Recipient | null> {
  const row = await findReceiver(context, receiver);
  if (row === undefined) return null;
  const isLatest = row.latest_attempt_id === receiver.attemptId;
  // Trusted: only this package writes them.
  const statuses = [readText(row, 'a_status') as AttemptStatus, readText(row, 'status') as RolloutStatus] as const;
  if (readInteger(row, 'is_given_back') === 0 && startsRunning(...statuses, isLatest)) return null;
  return {
    position: readInteger(row, 'position'),
    lastSequenceId: readInteger(row, 'last_sequence_id'),
    isRecorded: receiver.single === null ? null : row.span_id !== null,
    isMarked: receiver.single !== null && row.mark_position !== null,
    rolloutStatus: statuses[1],
  };
}

const receiverColumns =
  'r.position, r.status, r.latest_attempt_id, a.status AS a_status, a.is_given_back, c.last_sequence_id';
const receiverTables = `rollouts AS r JOIN attempts AS a ON a.rollout_id = r.rollout_id AND a.attempt_id = ?
  JOIN span_counters AS c ON c.rollout_id = r.rollout_id`;
const selectReceiver = `SELECT ${receiverColumns} FROM ${receiverTables} WHERE r.rollout_id = ?`;
/** Includes the span and the mark, which is cheaper than separate statements. */
const selectReceiverOfSingle = `SELECT ${receiverColumns}, s.span_id, m.position AS mark_position FROM ${receiverTables}
  LEFT JOIN spans AS s ON s.rollout_id = a.rollout_id AND s.attempt_id = a.attempt_id AND s.span_id = ?
  LEFT JOIN span_marks AS m ON m.mark = ? AND m.position = r.position WHERE r.rollout_id = ?`;

async function findReceiver({ db }: OperationContext, receiver: SpanReceiver): Promise<SqlRow | undefined> {
  const { rolloutId, attemptId, single } = receiver;
  const [row] =
    single === null
      ? await db.all(selectReceiver, [attemptId, rolloutId])
      : await db.all(selectReceiverOfSingle, [attemptId, single.spanId, single.mark ?? '', rolloutId]);
  return row;
}

async function recordHeartbeat({ db, nowMs }: OperationContext, rolloutId: string, attemptId: string): Promise<void> {
  await db.run('UPDATE attempts SET last_heartbeat_time_ms = ? WHERE rollout_id = ? AND attempt_id = ?', [
    nowMs,
    rolloutId,
    attemptId,
  ]);
}

function startsRunning(attempt: AttemptStatus, rollout: RolloutStatus, isLatest: boolean): boolean {
  if (attempt === 'preparing' || attempt === 'unresponsive') return true;
  return attempt === 'running' && isLatest && (rollout === 'preparing' || isQueued(rollout));
}
