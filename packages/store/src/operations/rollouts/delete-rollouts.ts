import { AgentLightningError, NotFoundError, type RolloutStatus } from '@agentlightning/core';
import { type DeletionCounts, isTerminalRolloutStatus } from '@agentlightning/core/store';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readText, readTextOrNull } from '../../sql/row-value.ts';
import type { SqlCondition } from '../../sql/sql-dialect.ts';
import { releaseContents } from '../records/contents.ts';
import { lockRows } from '../records/row-lock.ts';
import { unmarkRollouts } from '../records/span-marks.ts';
import { removeTexts } from '../spans/index-rollout-texts.ts';

/** The counts of an empty deletion. */
export const nothingDeleted: DeletionCounts = { runs: 0, rollouts: 0, attempts: 0, spans: 0 };

/** Adds the counts of two deletions. */
export function addDeletions(one: DeletionCounts, other: DeletionCounts): DeletionCounts {
  return {
    runs: one.runs + other.runs,
    rollouts: one.rollouts + other.rollouts,
    attempts: one.attempts + other.attempts,
    spans: one.spans + other.spans,
  };
}

/**
 * Deletes finished rollouts with their attempts and spans, atomically.
 *
 * @throws NotFoundError when one of them does not exist
 * @throws AgentLightningError CONFLICT when one of them is not finished
 */
export async function deleteRollouts(
  context: OperationContext,
  rolloutIds: readonly string[],
): Promise<DeletionCounts> {
  const unique = [...new Set(rolloutIds)];
  await lockRows(context, 'rollouts', unique);
  const where = context.dialect.isOneOf('rollout_id', unique);
  const rows = await context.db.all(`SELECT rollout_id, status FROM rollouts WHERE ${where.sql}`, where.parameters);
  const statuses = new Map(rows.map((row) => [readText(row, 'rollout_id'), readText(row, 'status') as RolloutStatus]));
  for (const rolloutId of unique) {
    const status = statuses.get(rolloutId);
    if (status === undefined) throw new NotFoundError('Rollout', rolloutId);
    if (!isTerminalRolloutStatus(status)) throw unfinished(rolloutId, status);
  }
  return removeRollouts(context, unique);
}

/** Removes rollouts, finished or not, with all dependent rows. */
export async function removeRollouts(
  context: OperationContext,
  rolloutIds: readonly string[],
): Promise<DeletionCounts> {
  if (rolloutIds.length === 0) return nothingDeleted;
  const where = context.dialect.isOneOf('rollout_id', rolloutIds);
  await unmarkRollouts(context, rolloutIds);
  await removeTexts(context, rolloutIds);
  const spans = await deleteFrom(context, 'spans', where);
  await releaseContents(context, rolloutIds);
  await deleteFrom(context, 'span_counters', where);
  await deleteFrom(context, 'model_usage', where);
  await deleteFrom(context, 'queue', where);
  const busy = context.dialect.isOneOf('current_rollout_id', rolloutIds);
  await context.db.run(
    `UPDATE workers SET status = 'unknown', current_rollout_id = NULL, current_attempt_id = NULL WHERE ${busy.sql}`,
    busy.parameters,
  );
  const attempts = await deleteFrom(context, 'attempts', where);
  const removed = await context.db.all(
    `DELETE FROM rollouts WHERE ${where.sql} RETURNING rollout_id, run_id`,
    where.parameters,
  );
  // Wakes pending waits, which then fail because the rollout does not exist.
  for (const row of removed) {
    const rolloutId = readText(row, 'rollout_id');
    context.changes.record({ kind: 'rollout-deleted', rolloutId, runId: readTextOrNull(row, 'run_id') });
  }
  return { runs: 0, rollouts: removed.length, attempts, spans };
}

function deleteFrom(context: OperationContext, table: string, where: SqlCondition): Promise<number> {
  return context.db.run(`DELETE FROM ${table} WHERE ${where.sql}`, where.parameters);
}

function unfinished(rolloutId: string, status: RolloutStatus): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `Rollout ${rolloutId} is ${status}, and only finished rollouts can be deleted`,
    remedy: 'Set its status to cancelled first.',
    details: { rolloutId, status },
  });
}
