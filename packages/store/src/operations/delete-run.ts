import { AgentLightningError, type Run } from '@agentlightning/core';
import { type DeletionCounts, terminalRolloutStatuses } from '@agentlightning/core/store';
import type { OperationContext } from '../operation.ts';
import { readInteger, readText } from '../row-value.ts';
import { addDeletions, nothingDeleted, removeRollouts } from './delete-rollouts.ts';
import { loadRun } from './read-runs.ts';

/** How many rollouts one transaction deletes: few enough for others not to wait long. */
export const rolloutsPerDeletion = 50;

/** A part of a deletion that goes in several transactions. */
export interface DeletionPart {
  readonly deleted: DeletionCounts;
  /** Whether nothing is left to delete. */
  readonly isOver: boolean;
}

/**
 * Refuses to delete a run that is under way or has unfinished rollouts, unless by force.
 *
 * @throws NotFoundError when there is no such run
 * @throws AgentLightningError CONFLICT
 */
export async function assertMayBeDeleted(context: OperationContext, runId: string, isForced: boolean): Promise<void> {
  const run = await loadRun(context, runId);
  if (isForced) return;
  if (run.status === 'running') throw notOver(run, 'is under way');
  const isOver = context.dialect.isOneOf('status', terminalRolloutStatuses);
  const [row] = await context.db.all(
    `SELECT count(*) AS unfinished FROM rollouts WHERE run_id = ? AND NOT (${isOver.sql})`,
    [runId, ...isOver.parameters],
  );
  const unfinished = row === undefined ? 0 : readInteger(row, 'unfinished');
  if (unfinished > 0) throw notOver(run, `has ${unfinished} unfinished rollouts`);
}

/**
 * Deletes some of a run's rollouts, and the run with its metrics when none is left. A rollout that was not
 * finished before somebody forced the deletion goes with the others.
 */
export async function deletePartOfRun(context: OperationContext, runId: string): Promise<DeletionPart> {
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

function notOver(run: Run, why: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `Run ${run.runId} ${why}, and only finished runs are deleted without force`,
    remedy: 'Stop it first, or force the deletion if nobody works on it any more.',
    details: { runId: run.runId, status: run.status },
  });
}
