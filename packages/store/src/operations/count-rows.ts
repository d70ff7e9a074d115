import type { RolloutStatus } from '@agentlightning/core';
import { rolloutTransitions, type StoreStatistics, terminalRolloutStatuses } from '@agentlightning/core/store';
import type { OperationContext } from '../sql/operation-runner.ts';
import { readInteger, readText } from '../sql/row-value.ts';

/** Counts the rows of the store. */
export async function countRows(context: OperationContext): Promise<Omit<StoreStatistics, 'name' | 'uptimeMs'>> {
  const [row] = await context.db.all(`SELECT
    (SELECT count(*) FROM rollouts) AS rollouts,
    (SELECT count(*) FROM attempts) AS attempts,
    (SELECT count(*) FROM spans) AS spans,
    (SELECT count(*) FROM resources) AS resources,
    (SELECT count(*) FROM workers) AS workers`);
  const counted = row ?? {};
  return {
    totalRollouts: readInteger(counted, 'rollouts'),
    totalAttempts: readInteger(counted, 'attempts'),
    totalSpans: readInteger(counted, 'spans'),
    totalResources: readInteger(counted, 'resources'),
    totalWorkers: readInteger(counted, 'workers'),
  };
}

/**
 * Counts unfinished rollouts by status, with 0 for statuses without rollouts. Its cost is independent of the number
 * of finished rollouts.
 */
export async function countUnfinished(context: OperationContext): Promise<ReadonlyMap<RolloutStatus, number>> {
  const statuses = (Object.keys(rolloutTransitions) as RolloutStatus[]).filter(
    (status) => !terminalRolloutStatuses.includes(status),
  );
  const isUnfinished = context.dialect.isOneOf('status', statuses);
  const rows = await context.db.all(
    context.dialect.keepsCounts
      ? `SELECT status, sum(rollouts) AS rollouts FROM rollout_counts WHERE ${isUnfinished.sql} GROUP BY status`
      : `SELECT status, count(*) AS rollouts FROM rollouts WHERE ${isUnfinished.sql} GROUP BY status`,
    isUnfinished.parameters,
  );
  const counts = new Map(rows.map((row) => [readText(row, 'status'), readInteger(row, 'rollouts')]));
  return new Map(statuses.map((status) => [status, counts.get(status) ?? 0]));
}
