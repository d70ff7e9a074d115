import {
  type Attempt,
  type AttemptedRollout,
  NotFoundError,
  type Rollout,
  type RolloutStatus,
} from '@agentlightning/core';
import { assertRolloutTransition, isTerminalRolloutStatus } from '@agentlightning/core/store';
import type { OperationContext } from '../operation.ts';
import { equals } from '../page.ts';
import { attemptedRolloutFromRow, type RolloutRecord, rolloutFromRow, rolloutWithAttempt } from '../row.ts';
import { readInteger, readTextOrNull } from '../row-value.ts';
import type { SqlCondition } from '../sql-dialect.ts';

/**
 * Reads a rollout to work with, and holds it until the transaction ends.
 *
 * @throws NotFoundError when there is none
 */
export async function loadRollout(context: OperationContext, rolloutId: string): Promise<RolloutRecord> {
  const [row] = await context.db.all(`SELECT * FROM rollouts WHERE rollout_id = ? ${context.dialect.forUpdate}`, [
    rolloutId,
  ]);
  if (row === undefined) throw new NotFoundError('Rollout', rolloutId);
  return {
    rollout: rolloutFromRow(row),
    latestAttemptId: readTextOrNull(row, 'latest_attempt_id'),
    position: readInteger(row, 'position'),
  };
}

/** Reads a rollout with its latest attempt; null when there is none. */
export async function findRollout(
  context: OperationContext,
  rolloutId: string,
): Promise<Rollout | AttemptedRollout | null> {
  const [rollout] = await selectRollouts(context, equals('r.rollout_id', rolloutId));
  return rollout ?? null;
}

/** Reads rollouts with their latest attempts, by id; those that do not exist are missing. */
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
  return rows.map(attemptedRolloutFromRow);
}

/**
 * Moves a rollout to another status, and into or out of the queue with it.
 *
 * @throws IllegalTransitionError when the state machine does not allow it
 */
export async function moveRollout(context: OperationContext, rollout: Rollout, to: RolloutStatus): Promise<Rollout> {
  assertRolloutTransition(rollout.rolloutId, rollout.status, to);
  return rollout.status === to ? rollout : await writeStatus(context, rollout, to);
}

/** Reopens a rollout that has succeeded, which the state machine does not allow and the 0.3 protocol does. */
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
  if (isTerminalRolloutStatus(rollout.status)) await forgiveLostClaims(context, rollout.rolloutId);
  if (isQueued(to)) await enterQueue(context, [rollout]);
  else if (isQueued(rollout.status)) await leaveQueue(context, rollout.rolloutId);
  noteRollout(context, { ...rollout, status: to });
  return { ...rollout, status: to, endTimeMs };
}

/** Whoever reopens a rollout gives it as many claims to lose as a new one has. */
async function forgiveLostClaims(context: OperationContext, rolloutId: string): Promise<void> {
  await context.db.run('UPDATE attempts SET is_given_back = 1 WHERE rollout_id = ? AND is_counted = 0', [rolloutId]);
}

/** Notes that a rollout is new or was changed, for those who wait and those who follow. */
export function noteRollout(context: OperationContext, rollout: Rollout): void {
  const { rolloutId, runId, status } = rollout;
  context.changes.record({ kind: 'rollout', rolloutId, runId, status });
}

/** Puts rollouts at the end of the queue, in order, unless they stand in it already. */
export function enterQueue(context: OperationContext, rollouts: readonly Rollout[]): Promise<void> {
  return context.db.insert(
    queueTable,
    rollouts.map(({ rolloutId, runId }) => [rolloutId, runId]),
  );
}

const queueTable = {
  table: 'queue',
  columns: { rollout_id: 'text', run_id: 'text' },
  unlessKnown: ['rollout_id'],
} as const;

/** Takes a rollout from the queue. A place that somebody is taking right now is left to whoever takes it. */
async function leaveQueue(context: OperationContext, rolloutId: string): Promise<void> {
  await context.db.run(
    `WITH place AS MATERIALIZED (SELECT position FROM queue WHERE rollout_id = ? ${context.dialect.skipLocked})
     DELETE FROM queue WHERE position IN (SELECT position FROM place)`,
    [rolloutId],
  );
}

/** Whether a rollout with this status stands in the queue. */
export function isQueued(status: RolloutStatus): boolean {
  return status === 'queuing' || status === 'requeuing';
}

/** A rollout together with an attempt of it. */
export function withAttempt(rollout: Rollout, attempt: Attempt): AttemptedRollout {
  return { ...rollout, attempt };
}
