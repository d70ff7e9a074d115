import { ValidationError } from '@agentlightning/core';
import { type RetentionPolicy, terminalRolloutStatuses } from '@agentlightning/core/store';
import type { OperationContext } from '../sql/operation-runner.ts';
import { allOf } from '../sql/page.ts';
import { readText } from '../sql/row-value.ts';
import type { SqlCondition } from '../sql/sql-dialect.ts';
import { addDeletions, nothingDeleted, removeRollouts } from './rollouts/delete-rollouts.ts';
import { type DeletionBatch, removeEmptyRun, rolloutsPerDeletion } from './runs/delete-run.ts';
import { deployedRuns, isDataset, isDeployment } from './runs/deployed-runs.ts';

/**
 * Checks a policy, which must have at least one rule.
 *
 * @throws ValidationError
 */
export function assertRetentionPolicy({ olderThanMs, keepRuns, traces = {} }: RetentionPolicy): void {
  if (olderThanMs === undefined && keepRuns === undefined && Object.keys(traces).length === 0) {
    throw invalid(
      '',
      'must set olderThanMs (maximum age), keepRuns (number of runs to keep) or traces (maximum age by deployment)',
    );
  }
  for (const [deployment, ageMs] of Object.entries(traces)) {
    if (ageMs >= 0 && Number.isFinite(ageMs)) continue;
    throw invalid(`traces.${deployment}`, `must be a number of milliseconds of at least 0, got ${ageMs}`);
  }
  if (olderThanMs !== undefined && !(olderThanMs >= 0 && Number.isFinite(olderThanMs))) {
    throw invalid('olderThanMs', `must be a number of milliseconds of at least 0, got ${olderThanMs}`);
  }
  if (keepRuns !== undefined && !(Number.isSafeInteger(keepRuns) && keepRuns >= 0)) {
    throw invalid('keepRuns', `must be an integer of at least 0, got ${keepRuns}`);
  }
}

/** Whether a policy deletes any current data. */
export async function hasAnythingToDelete(context: OperationContext, policy: RetentionPolicy): Promise<boolean> {
  const cutoffMs = retentionCutoff(context, policy);
  const where = await runsToDelete(context, policy);
  const runs = await context.db.all(
    `SELECT r.run_id FROM runs AS r WHERE ${where.sql} AND (
       NOT EXISTS (SELECT 1 FROM rollouts AS o WHERE o.run_id = r.run_id)
       OR EXISTS (SELECT 1 FROM rollouts AS o WHERE o.run_id = r.run_id AND o.end_time_ms IS NOT NULL)) LIMIT 1`,
    where.parameters,
  );
  if (runs.length > 0 || (await rolloutsWithoutRun(context, cutoffMs, '')).length > 0) return true;
  return (await expiredTraces(context, policy)).length > 0;
}

/** Deletes a batch of expired data: rollouts of expired runs, those runs, and expired rollouts without a run and of deployments. */
export async function applyRetentionBatch(context: OperationContext, policy: RetentionPolicy): Promise<DeletionBatch> {
  const cutoffMs = retentionCutoff(context, policy);
  const where = await runsToDelete(context, policy);
  const runs = await context.db.all(
    `SELECT run_id FROM runs AS r WHERE ${where.sql} ORDER BY position`,
    where.parameters,
  );
  let deleted = nothingDeleted;
  for (const row of runs) {
    const runId = readText(row, 'run_id');
    const rolloutIds = await finishedRollouts(context, runId);
    deleted = addDeletions(deleted, await removeRollouts(context, rolloutIds));
    if (deleted.rollouts >= rolloutsPerDeletion) return { deleted, isOver: false };
    if (!(await hasRollouts(context, runId))) deleted = addDeletions(deleted, await removeEmptyRun(context, runId));
  }
  const withoutRun = await rolloutsWithoutRun(context, cutoffMs, context.dialect.forUpdate);
  deleted = addDeletions(deleted, await removeRollouts(context, withoutRun));
  const traces = await expiredTraces(context, policy);
  deleted = addDeletions(deleted, await removeRollouts(context, traces));
  return { deleted, isOver: withoutRun.length < rolloutsPerDeletion && traces.length === 0 };
}

/** The condition of ended runs that were last updated before the cutoff, are not among the newest, and that no deployment needs. */
export async function runsToDelete(context: OperationContext, policy: RetentionPolicy): Promise<SqlCondition> {
  const cutoffMs = retentionCutoff(context, policy);
  const conditions: SqlCondition[] = [
    { sql: `r.status NOT IN ('queued', 'running', 'stopping') AND NOT (${isDataset('r')})`, parameters: [] },
  ];
  // A policy for traces only.
  if (cutoffMs === null && policy.keepRuns === undefined) conditions.push({ sql: '1 = 0', parameters: [] });
  if (cutoffMs !== null) conditions.push({ sql: 'r.update_time_ms < ?', parameters: [cutoffMs] });
  if (policy.keepRuns !== undefined) {
    const newest = `SELECT n.run_id FROM runs AS n WHERE NOT (${isDataset('n')}) ORDER BY n.position DESC LIMIT ?`;
    conditions.push({ sql: `r.run_id NOT IN (${newest})`, parameters: [policy.keepRuns] });
  }
  const deployed = context.dialect.isOneOf('r.run_id', [...(await deployedRuns(context)).keys()]);
  conditions.push({ sql: `NOT (${deployed.sql})`, parameters: deployed.parameters });
  return allOf(conditions);
}

async function finishedRollouts(context: OperationContext, runId: string): Promise<readonly string[]> {
  const rows = await context.db.all(
    // Locked: a concurrent transaction must not reopen one of them.
    `SELECT rollout_id FROM rollouts WHERE run_id = ? AND end_time_ms IS NOT NULL ORDER BY end_time_ms
     LIMIT ? ${context.dialect.forUpdate}`,
    [runId, rolloutsPerDeletion],
  );
  return rows.map((row) => readText(row, 'rollout_id'));
}

async function rolloutsWithoutRun(
  context: OperationContext,
  cutoffMs: number | null,
  forUpdate: string,
): Promise<readonly string[]> {
  if (cutoffMs === null) return [];
  const isOver = context.dialect.isOneOf('status', terminalRolloutStatuses);
  const rows = await context.db.all(
    `SELECT rollout_id FROM rollouts WHERE run_id IS NULL AND end_time_ms < ? AND ${isOver.sql}
     ORDER BY end_time_ms LIMIT ? ${forUpdate}`,
    [cutoffMs, ...isOver.parameters, rolloutsPerDeletion],
  );
  return rows.map((row) => readText(row, 'rollout_id'));
}

/** The expired ones among the first traces of each deployment: traces are added in the order of their time. */
async function expiredTraces(context: OperationContext, policy: RetentionPolicy): Promise<readonly string[]> {
  const expired: string[] = [];
  for (const { deployment, cutoffMs } of await traceCutoffs(context, policy)) {
    const rows = await context.db.all(
      `SELECT rollout_id FROM (SELECT rollout_id, end_time_ms FROM rollouts WHERE run_id = ? ORDER BY position LIMIT ?) AS first
       WHERE end_time_ms < ?`,
      [deployment, rolloutsPerDeletion - expired.length, cutoffMs],
    );
    expired.push(...rows.map((row) => readText(row, 'rollout_id')));
    if (expired.length >= rolloutsPerDeletion) break;
  }
  return expired;
}

/** The deployments whose traces expire, with the time before which they do, in Unix milliseconds. */
export async function traceCutoffs(
  context: OperationContext,
  { olderThanMs, traces = {} }: RetentionPolicy,
): Promise<readonly { readonly deployment: string; readonly cutoffMs: number }[]> {
  const rows = await context.db.all(`SELECT run_id FROM runs WHERE ${isDeployment}`, []);
  return rows.flatMap((row) => {
    const deployment = readText(row, 'run_id');
    const ageMs = Object.hasOwn(traces, deployment) ? traces[deployment] : olderThanMs;
    return ageMs === undefined ? [] : [{ deployment, cutoffMs: context.nowMs - ageMs }];
  });
}

async function hasRollouts(context: OperationContext, runId: string): Promise<boolean> {
  return (await context.db.all('SELECT 1 FROM rollouts WHERE run_id = ? LIMIT 1', [runId])).length > 0;
}

/** The age cutoff of a policy in Unix milliseconds; null when it has none. */
export function retentionCutoff(context: OperationContext, { olderThanMs }: RetentionPolicy): number | null {
  return olderThanMs === undefined ? null : context.nowMs - olderThanMs;
}

function invalid(path: string, message: string): ValidationError {
  return new ValidationError('Retention policy', [{ path, message }]);
}
