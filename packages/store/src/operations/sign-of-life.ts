import type { AttemptStatus, RolloutStatus } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { readInteger, readText } from '../row-value.ts';
import type { SqlRow } from '../sql-driver.ts';
import { loadAttempt, moveAttempt } from './attempt-record.ts';
import { isQueued, loadRollout } from './rollout-record.ts';
import { lastSequenceId } from './span-counter.ts';

/** An attempt that gets spans. */
export interface SpanReceiver {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** The span, when it is a single one: whether it is there is found out along the way. */
  readonly single: SingleSpan | null;
}

/** A span to look for, and the mark that its rollout has when it has had one like it. */
export interface SingleSpan {
  readonly spanId: string;
  /** Null when it leaves more than one mark. */
  readonly mark: string | null;
}

/** What is known of a rollout that gets spans. */
export interface Recipient {
  /** Where it stands among all. */
  readonly position: number;
  /** The last number that was given to a span of it. */
  readonly lastSequenceId: number;
  /** Whether the single span is recorded already; null when that is not known yet. */
  readonly isRecorded: boolean | null;
  /** Whether the rollout is known to have the mark. */
  readonly isMarked: boolean;
}

/**
 * The first span of an attempt makes it running, and brings an unresponsive one back; every span is a heartbeat. An
 * attempt that was given back to the queue stays as it is: nobody may be at work on it, and the queue must keep its
 * rollout.
 *
 * @throws NotFoundError when there is no such rollout or attempt
 */
export async function noteSignOfLife(context: OperationContext, receiver: SpanReceiver): Promise<Recipient> {
  const { rolloutId, attemptId } = receiver;
  const underWay = await findUnderWay(context, receiver);
  if (underWay !== null) {
    await noteHeartbeat(context, rolloutId, attemptId);
    return underWay;
  }
  const record = await loadRollout(context, rolloutId);
  const { attempt, isGivenBack } = await loadAttempt(context, record, attemptId);
  await noteHeartbeat(context, rolloutId, attempt.attemptId);
  const { latestAttemptId, position } = record;
  const isLatest = attempt.attemptId === latestAttemptId;
  if (!isGivenBack && startsRunning(attempt.status, record.rollout.status, isLatest))
    await moveAttempt(context, { record, attempt }, { to: 'running' });
  return { position, lastSequenceId: await lastSequenceId(context, rolloutId), isRecorded: null, isMarked: false };
}

/** Looks by one statement for an attempt that stays as it is, as nearly all do; null for every other. */
async function findUnderWay(context: OperationContext, receiver: SpanReceiver): Promise<Recipient | null> {
  const row = await findReceiver(context, receiver);
  if (row === undefined) return null;
  const isLatest = row.latest_attempt_id === receiver.attemptId;
  // Trusted: only we write them.
  const statuses = [readText(row, 'a_status') as AttemptStatus, readText(row, 'status') as RolloutStatus] as const;
  if (readInteger(row, 'is_given_back') === 0 && startsRunning(...statuses, isLatest)) return null;
  return {
    position: readInteger(row, 'position'),
    lastSequenceId: readInteger(row, 'last_sequence_id'),
    isRecorded: receiver.single === null ? null : row.span_id !== null,
    isMarked: receiver.single !== null && row.mark_position !== null,
  };
}

const receiverColumns =
  'r.position, r.status, r.latest_attempt_id, a.status AS a_status, a.is_given_back, c.last_sequence_id';
const receiverTables = `rollouts AS r JOIN attempts AS a ON a.rollout_id = r.rollout_id AND a.attempt_id = ?
  JOIN span_counters AS c ON c.rollout_id = r.rollout_id`;
const selectReceiver = `SELECT ${receiverColumns} FROM ${receiverTables} WHERE r.rollout_id = ?`;
/** With the span and the mark, which costs less than a statement for each. */
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

async function noteHeartbeat({ db, nowMs }: OperationContext, rolloutId: string, attemptId: string): Promise<void> {
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
