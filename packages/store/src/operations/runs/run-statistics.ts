import type { RolloutStatus } from '@agentlightning/core';
import { type RunStatistics, rolloutTransitions } from '@agentlightning/core/store';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import { loadRun } from '../records/read-runs.ts';
import { usageOfRun } from '../spans/record-usage.ts';

/**
 * Counts a run's rollouts by status, and its attempts, and sums the token usage of their model calls.
 *
 * @throws NotFoundError when the run does not exist
 */
export async function runStatistics(context: OperationContext, runId: string): Promise<RunStatistics> {
  await loadRun(context, runId);
  const rows = await context.db.all(
    'SELECT status, count(*) AS rollouts FROM rollouts WHERE run_id = ? GROUP BY status',
    [runId],
  );
  const [attempts] = await context.db.all(
    'SELECT count(*) AS attempts FROM rollouts AS r JOIN attempts AS a ON a.rollout_id = r.rollout_id WHERE r.run_id = ?',
    [runId],
  );
  const counts = new Map(rows.map((row) => [readText(row, 'status'), readInteger(row, 'rollouts')]));
  const statuses = Object.keys(rolloutTransitions) as RolloutStatus[];
  return {
    runId,
    totalRollouts: [...counts.values()].reduce((total, count) => total + count, 0),
    totalAttempts: attempts === undefined ? 0 : readInteger(attempts, 'attempts'),
    // Every status is a key: the list comes from the state machine.
    rolloutsByStatus: Object.fromEntries(
      statuses.map((status) => [status, counts.get(status) ?? 0]),
    ) as RunStatistics['rolloutsByStatus'],
    usage: await usageOfRun(context, runId),
  };
}
