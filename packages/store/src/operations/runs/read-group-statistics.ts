import type { GroupQuery, GroupStatistics } from '@agentlightning/core/store';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger, readNumber, readNumberOrNull, readText } from '../../sql/row-value.ts';
import type { SqlCondition, SqlDialect } from '../../sql/sql-dialect.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';
import { loadRun } from '../records/read-runs.ts';

/**
 * Summarises the training rollouts of a run by step and task, from the rewards that attempts have as a column.
 *
 * @throws NotFoundError when the run does not exist
 */
export async function groupStatistics(
  context: OperationContext,
  runId: string,
  query: GroupQuery,
): Promise<readonly GroupStatistics[]> {
  await loadRun(context, runId);
  const { sql, parameters } = groupStatement(context.dialect, runId, query);
  return (await context.db.all(sql, parameters)).map(groupFromRow);
}

/** The statement of {@link groupStatistics}. */
export function groupStatement(dialect: SqlDialect, runId: string, { startTimeFromMs }: GroupQuery): SqlCondition {
  const since = startTimeFromMs === undefined ? '' : ' AND r.start_time_ms >= ?';
  const sql = `SELECT step, task_index, count(*) AS rollouts,
      sum(CASE WHEN status = 'failed' THEN 1 ELSE 0 END) AS failed,
      avg(reward) AS mean_reward, min(reward) AS min_reward, max(reward) AS max_reward,
      min(start_time_ms) AS first_start_time_ms, max(start_time_ms) AS last_start_time_ms, min(rollout_id) AS rollout_id
    FROM (
      SELECT ${dialect.integerField('r.metadata', 'step')} AS step,
        ${dialect.integerField('r.metadata', 'task_index')} AS task_index,
        r.rollout_id, r.status, r.start_time_ms, a.reward
      FROM rollouts AS r
        LEFT JOIN attempts AS a ON a.rollout_id = r.rollout_id AND a.attempt_id = r.latest_attempt_id
      WHERE r.run_id = ? AND r.mode = 'train'${since}
    ) AS trained
    WHERE step IS NOT NULL AND task_index IS NOT NULL
    GROUP BY step, task_index ORDER BY step, task_index`;
  return { sql, parameters: startTimeFromMs === undefined ? [runId] : [runId, startTimeFromMs] };
}

function groupFromRow(row: SqlRow): GroupStatistics {
  return {
    step: readInteger(row, 'step'),
    taskIndex: readInteger(row, 'task_index'),
    rollouts: readInteger(row, 'rollouts'),
    failed: readInteger(row, 'failed'),
    meanReward: readNumberOrNull(row, 'mean_reward'),
    minReward: readNumberOrNull(row, 'min_reward'),
    maxReward: readNumberOrNull(row, 'max_reward'),
    firstStartTimeMs: readNumber(row, 'first_start_time_ms'),
    lastStartTimeMs: readNumber(row, 'last_start_time_ms'),
    rolloutId: readText(row, 'rollout_id'),
  };
}
