import type { AttemptStatus, RolloutStatus } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { readInteger, readText } from '../row-value.ts';
import type { SqlCondition } from '../sql-dialect.ts';
import { loadAttempt, moveAttempt } from './attempt-record.ts';
import { isQueued, loadRollout } from './rollout-record.ts';

/** An attempt that gets spans. */
export interface ReceivingAttempt {
  readonly rolloutId: string;
  readonly attemptId: string;
}

/** What is known of a rollout that gets spans. */
export interface Recipient {
  /** Where it stands among all. */
  readonly position: number;
  /** The last number that was given to a span of it. */
  readonly lastSequenceId: number;
}

/** How many attempts are looked at with one statement, where there are so many: one by one costs twice as much. */
const attemptsPerStatement = 16;

/**
 * The first span of an attempt makes it running, and brings an unresponsive one back; every span is a heartbeat. An
 * attempt that was given back to the queue stays as it is: nobody may be at work on it, and the queue must keep its
 * rollout.
 *
 * @throws NotFoundError when one of the rollouts or attempts does not exist
 */
export async function noteSignsOfLife(
  context: OperationContext,
  attempts: readonly ReceivingAttempt[],
): Promise<readonly Recipient[]> {
  const recipients: Recipient[] = [];
  for (const block of blocksOf(attempts)) {
    const underWay = await findUnderWay(context, block);
    const found = block.filter((_, index) => underWay[index] !== null);
    if (found.length > 0) await noteHeartbeats(context, found);
    for (const [index, attempt] of block.entries())
      recipients.push(underWay[index] ?? (await noteBeginning(context, attempt)));
  }
  return recipients;
}

/** Those that are looked at together: of each rollout only one, since what becomes of it may be news to another one. */
export function blocksOf<TAttempt extends ReceivingAttempt>(
  attempts: readonly TAttempt[],
): readonly (readonly TAttempt[])[] {
  const areDifferent = new Set(attempts.map(({ rolloutId }) => rolloutId)).size === attempts.length;
  const blocks: (readonly TAttempt[])[] = [];
  for (let at = 0; at < attempts.length; ) {
    const size = areDifferent && at + attemptsPerStatement <= attempts.length ? attemptsPerStatement : 1;
    blocks.push(attempts.slice(at, at + size));
    at += size;
  }
  return blocks;
}

/** That columns have the values of one of the rows. */
export function areOneOf(columns: readonly string[], rows: readonly (readonly string[])[]): SqlCondition {
  const parameters = rows.flat();
  if (rows.length === 1) return { sql: columns.map((column) => `${column} = ?`).join(' AND '), parameters };
  const row = `(${columns.map(() => '?').join(', ')})`;
  return { sql: `(${columns.join(', ')}) IN (VALUES ${rows.map(() => row).join(', ')})`, parameters };
}

async function noteBeginning(
  context: OperationContext,
  { rolloutId, attemptId }: ReceivingAttempt,
): Promise<Recipient> {
  const record = await loadRollout(context, rolloutId);
  const { attempt, isGivenBack } = await loadAttempt(context, record, attemptId);
  await noteHeartbeats(context, [{ rolloutId, attemptId }]);
  const { latestAttemptId, position } = record;
  const isLatest = attempt.attemptId === latestAttemptId;
  if (!isGivenBack && startsRunning(attempt.status, record.rollout.status, isLatest))
    await moveAttempt(context, { record, attempt }, { to: 'running' });
  return { position, lastSequenceId: await lastSequenceId(context, rolloutId) };
}

/** Looks by one statement for attempts that stay as they are, as nearly all do; null for every other. */
async function findUnderWay(
  { db }: OperationContext,
  attempts: readonly ReceivingAttempt[],
): Promise<readonly (Recipient | null)[]> {
  const those = areOneOf(
    ['a.rollout_id', 'a.attempt_id'],
    attempts.map(({ rolloutId, attemptId }) => [rolloutId, attemptId]),
  );
  const rows = await db.all(
    `SELECT r.rollout_id, r.position, r.status, r.latest_attempt_id, a.attempt_id, a.status AS a_status,
       a.is_given_back, c.last_sequence_id
     FROM attempts AS a JOIN rollouts AS r ON r.rollout_id = a.rollout_id
     JOIN span_counters AS c ON c.rollout_id = r.rollout_id WHERE ${those.sql}`,
    those.parameters,
  );
  const found = new Map<string, Recipient>();
  for (const row of rows) {
    const isLatest = row.latest_attempt_id === row.attempt_id;
    // Trusted: only we write them.
    const statuses = [readText(row, 'a_status') as AttemptStatus, readText(row, 'status') as RolloutStatus] as const;
    if (readInteger(row, 'is_given_back') === 0 && startsRunning(...statuses, isLatest)) continue;
    const recipient = { position: readInteger(row, 'position'), lastSequenceId: readInteger(row, 'last_sequence_id') };
    found.set(readText(row, 'rollout_id'), recipient);
  }
  return attempts.map(({ rolloutId }) => found.get(rolloutId) ?? null);
}

async function noteHeartbeats({ db, nowMs }: OperationContext, attempts: readonly ReceivingAttempt[]): Promise<void> {
  const those = areOneOf(
    ['rollout_id', 'attempt_id'],
    attempts.map(({ rolloutId, attemptId }) => [rolloutId, attemptId]),
  );
  await db.run(`UPDATE attempts SET last_heartbeat_time_ms = ? WHERE ${those.sql}`, [nowMs, ...those.parameters]);
}

function startsRunning(attempt: AttemptStatus, rollout: RolloutStatus, isLatest: boolean): boolean {
  if (attempt === 'preparing' || attempt === 'unresponsive') return true;
  return attempt === 'running' && isLatest && (rollout === 'preparing' || isQueued(rollout));
}

/** The last number that was given to a span of a rollout. */
export async function lastSequenceId(context: OperationContext, rolloutId: string): Promise<number> {
  const [row] = await context.db.all('SELECT last_sequence_id FROM span_counters WHERE rollout_id = ?', [rolloutId]);
  return row === undefined ? 0 : readInteger(row, 'last_sequence_id');
}
