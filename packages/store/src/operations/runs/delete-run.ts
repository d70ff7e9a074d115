import { AgentLightningError, type Run } from '@agentlightning/core';
import { unfinishedRunStatuses } from '@agentlightning/core/protocol';
import { type DeletionCounts, terminalRolloutStatuses } from '@agentlightning/core/store';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import { loadRun } from '../records/read-runs.ts';
import { addDeletions, nothingDeleted, removeRollouts } from '../rollouts/delete-rollouts.ts';
import { assertNotDeployed } from './deployed-runs.ts';

/** Rollouts per transaction: small enough not to delay other transactions. */
export const rolloutsPerDeletion = 50;

/** One batch of a deletion in several transactions. */
export interface DeletionBatch {
  readonly deleted: DeletionCounts;
  /** Whether the deletion is complete. */
  readonly isOver: boolean;
}

/**
 * Checks that no deployment needs a run, and, unless the deletion is forced, that it has ended and has no unfinished rollouts.
 *
 * @throws NotFoundError when there is no such run
 * @throws AgentLightningError CONFLICT
 */
export async function assertDeletable(context: OperationContext, runId: string, isForced: boolean): Promise<void> {
  const run = await loadRun(context, runId);
  await assertNotDeployed(context, runId);
  if (isForced) return;
  if (unfinishedRunStatuses.includes(run.status)) throw notFinished(run, `is ${run.status}`);
  const isOver = context.dialect.isOneOf('status', terminalRolloutStatuses);
  const [row] = await context.db.all(
    `SELECT count(*) AS unfinished FROM rollouts WHERE run_id = ? AND NOT (${isOver.sql})`,
    [runId, ...isOver.parameters],
  );
  const unfinished = row === undefined ? 0 : readInteger(row, 'unfinished');
  if (unfinished > 0) throw notFinished(run, `has ${unfinished} unfinished rollouts`);
}

/**
 * Deletes a batch of a run's rollouts, and the run with its metrics after the last one. Unfinished rollouts are
 * included: the deletion was forced.
 *
 * @throws AgentLightningError CONFLICT when it was deployed in the meantime
 */
export async function deleteBatchOfRun(context: OperationContext, runId: string): Promise<DeletionBatch> {
  await assertNotDeployed(context, runId);
  const rows = await context.db.all(
    `SELECT rollout_id FROM rollouts WHERE run_id = ? ORDER BY position LIMIT ? ${context.dialect.forUpdate}`,
    [runId, rolloutsPerDeletion],
  );
  const deleted =
    rows.length === 0
      ? nothingDeleted
      : await removeRollouts(
          context,
          rows.map((row) => readText(row, 'rollout_id')),
        );
  if (rows.length === rolloutsPerDeletion) return { deleted, isOver: false };
  return { deleted: addDeletions(deleted, await removeEmptyRun(context, runId)), isOver: true };
}

/** Deletes a run that has no rollouts, with its metrics. */
export async function removeEmptyRun(context: OperationContext, runId: string): Promise<DeletionCounts> {
  await context.db.run('DELETE FROM metrics WHERE run_id = ?', [runId]);
  const runs = await context.db.run('DELETE FROM runs WHERE run_id = ?', [runId]);
  if (runs > 0) context.changes.record({ kind: 'run-deleted', runId });
  return { ...nothingDeleted, runs };
}

function notFinished(run: Run, why: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `Run ${run.runId} ${why}, and only finished runs are deleted without force`,
    remedy: 'Stop it first, or force the deletion if it is abandoned.',
    details: { runId: run.runId, status: run.status },
  });
}
