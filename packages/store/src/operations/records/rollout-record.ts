import { type Attempt, NotFoundError, type Rollout, type RolloutStatus } from '@agentlightning/core';
import { type AttemptedRollout, assertRolloutTransition, isTerminalRolloutStatus } from '@agentlightning/core/store';
import { attemptedRolloutFromRow, type RolloutRecord, rolloutFromRow, rolloutWithAttempt } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { equals } from '../../sql/page.ts';
import { readInteger, readTextOrNull } from '../../sql/row-value.ts';
import type { SqlCondition } from '../../sql/sql-dialect.ts';
import { withContents } from './contents.ts';
import { requestTextIndex } from './text-index-queue.ts';

/**
 * Loads a rollout and locks it until the transaction ends.
 *
 * @throws NotFoundError when it does not exist
 */
export async function loadRollout(context: OperationContext, rolloutId: string): Promise<RolloutRecord> {
  const rows = await context.db.all(`SELECT * FROM rollouts WHERE rollout_id = ? ${context.dialect.forUpdate}`, [
    rolloutId,
  ]);
  const [row] = await withContents(context, rows, 'input');
  if (row === undefined) throw new NotFoundError('Rollout', rolloutId);
  return {
    rollout: rolloutFromRow(row),
    latestAttemptId: readTextOrNull(row, 'latest_attempt_id'),
    position: readInteger(row, 'position'),
  };
}

/** Finds a rollout with its latest attempt; null when it does not exist. */
export async function findRollout(
  context: OperationContext,
  rolloutId: string,
): Promise<Rollout | AttemptedRollout | null> {
  const [rollout] = await selectRollouts(context, equals('r.rollout_id', rolloutId));
  return rollout ?? null;
}

/** Finds rollouts with their latest attempts, by id; omits those that do not exist. */
export async function findRollouts(
  context: OperationContext,
  rolloutIds: readonly string[],
): Promise<ReadonlyMap<string, Rollout | AttemptedRollout>> {
  const rollouts = await selectRollouts(context, context.dialect.isOneOf('r.rollout_id', rolloutIds));
  return new Map(rollouts.map((rollout) => [rollout.rolloutId, rollout]));
}

async function selectRollouts(
  context: OperationContext,
  those: SqlCondition,
): Promise<readonly (Rollout | AttemptedRollout)[]> {
  const rows = await context.db.all(
    `SELECT ${rolloutWithAttempt.columns} FROM ${rolloutWithAttempt.from} WHERE ${those.sql}`,
    those.parameters,
  );
  return (await withContents(context, rows, 'input')).map(attemptedRolloutFromRow);
}

/**
 * Moves a rollout to another status and enqueues or dequeues it accordingly.
 *
 * @throws IllegalTransitionError when the state machine does not allow it
 */
export async function moveRollout(context: OperationContext, rollout: Rollout, to: RolloutStatus): Promise<Rollout> {
  assertRolloutTransition(rollout.rolloutId, rollout.status, to);
  return rollout.status === to ? rollout : await writeStatus(context, rollout, to);
}

/** Reopens a succeeded rollout, which the 0.3 protocol allows and the state machine does not. */
export function reopenRollout(context: OperationContext, rollout: Rollout): Promise<Rollout> {
  return writeStatus(context, rollout, 'preparing');
}

async function writeStatus(context: OperationContext, rollout: Rollout, to: RolloutStatus): Promise<Rollout> {
  const isOver = isTerminalRolloutStatus(to);
  const endTimeMs = isOver ? context.nowMs : null;
  await context.db.run('UPDATE rollouts SET status = ?, end_time_ms = ? WHERE rollout_id = ?', [
    to,
    endTimeMs,
    rollout.rolloutId,
  ]);
  if (isOver) await requestTextIndex(context, [rollout.rolloutId]);
  if (isTerminalRolloutStatus(rollout.status)) await resetLostClaims(context, rollout.rolloutId);
  if (isQueued(to)) await enterQueue(context, [rollout]);
  else if (isQueued(rollout.status)) await leaveQueue(context, rollout.rolloutId);
  recordRolloutChange(context, { ...rollout, status: to });
  return { ...rollout, status: to, endTimeMs };
}

/** Resets the count of expired claims of a reopened rollout. */
async function resetLostClaims(context: OperationContext, rolloutId: string): Promise<void> {
  await context.db.run('UPDATE attempts SET is_given_back = 1 WHERE rollout_id = ? AND is_counted = 0', [rolloutId]);
}

/** Records a change notification of a rollout. */
export function recordRolloutChange(context: OperationContext, rollout: Rollout): void {
  const { rolloutId, runId, status } = rollout;
  context.changes.record({ kind: 'rollout', rolloutId, runId, status });
}

/** Appends rollouts to the queue in order; queued ones are skipped. */
export function enterQueue(context: OperationContext, rollouts: readonly Rollout[]): Promise<void> {
  return context.db.insert(
    queueTable,
    // Traces of production are never claimed.
    rollouts.filter(({ mode }) => mode !== 'production').map(({ rolloutId, runId }) => [rolloutId, runId]),
  );
}

const queueTable = {
  table: 'queue',
  columns: { rollout_id: 'text', run_id: 'text' },
  unlessKnown: ['rollout_id'],
} as const;

/** Removes a rollout from the queue. An entry locked by a concurrent claim is left to that claim. */
async function leaveQueue(context: OperationContext, rolloutId: string): Promise<void> {
  await context.db.run(
    `WITH place AS MATERIALIZED (SELECT position FROM queue WHERE rollout_id = ? ${context.dialect.skipLocked})
     DELETE FROM queue WHERE position IN (SELECT position FROM place)`,
    [rolloutId],
  );
}

/** Whether a rollout with this status is in the queue. */
export function isQueued(status: RolloutStatus): boolean {
  return status === 'queuing' || status === 'requeuing';
}

/** Combines a rollout with one of its attempts. */
export function withAttempt(rollout: Rollout, attempt: Attempt): AttemptedRollout {
  return { ...rollout, attempt };
}
