import { type RetentionPolicy, type RetentionPreview, terminalRolloutStatuses } from '@agentlightning/core/store';
import type { OperationContext } from '../sql/operation-runner.ts';
import { readInteger, readText } from '../sql/row-value.ts';
import type { SqlCondition } from '../sql/sql-dialect.ts';
import { retentionCutoff, runsToDelete, traceCutoffs } from './apply-retention.ts';

/** Returns the counts and run ids that a policy would delete now. */
export async function previewRetention(context: OperationContext, policy: RetentionPolicy): Promise<RetentionPreview> {
  const cutoffMs = retentionCutoff(context, policy);
  const oldRuns = await runsToDelete(context, policy);
  const runs = await context.db.all(
    `SELECT r.run_id FROM runs AS r WHERE ${oldRuns.sql}
       AND NOT EXISTS (SELECT 1 FROM rollouts AS o WHERE o.run_id = r.run_id AND o.end_time_ms IS NULL)
     ORDER BY r.position`,
    oldRuns.parameters,
  );
  const those = rolloutsToDelete(context, oldRuns, { cutoffMs, traces: await traceCutoffs(context, policy) });
  const count = async (table: string): Promise<number> => {
    const [row] = await context.db.all(
      `SELECT count(*) AS count FROM ${table} WHERE rollout_id IN (${those.sql})`,
      those.parameters,
    );
    return readInteger(row ?? {}, 'count');
  };
  return {
    runs: runs.length,
    runIds: runs.map((row) => readText(row, 'run_id')),
    rollouts: await count('rollouts'),
    attempts: await count('attempts'),
    spans: await count('spans'),
  };
}

/** Selects finished rollouts of such runs and expired rollouts without a run. */
function rolloutsToDelete(
  context: OperationContext,
  runs: SqlCondition,
  { cutoffMs, traces }: { readonly cutoffMs: number | null; readonly traces: Awaited<ReturnType<typeof traceCutoffs>> },
): SqlCondition {
  const ofRuns = `SELECT rollout_id FROM rollouts WHERE end_time_ms IS NOT NULL
    AND run_id IN (SELECT r.run_id FROM runs AS r WHERE ${runs.sql})`;
  const isOver = context.dialect.isOneOf('status', terminalRolloutStatuses);
  const parts: readonly SqlCondition[] = [
    { sql: ofRuns, parameters: runs.parameters },
    ...(cutoffMs === null
      ? []
      : [
          {
            sql: `SELECT rollout_id FROM rollouts WHERE run_id IS NULL AND end_time_ms < ? AND ${isOver.sql}`,
            parameters: [cutoffMs, ...isOver.parameters],
          },
        ]),
    ...traces.map(({ deployment, cutoffMs: before }) => ({
      sql: 'SELECT rollout_id FROM rollouts WHERE run_id = ? AND end_time_ms < ?',
      parameters: [deployment, before],
    })),
  ];
  return {
    sql: parts.map(({ sql }) => sql).join(' UNION ALL '),
    parameters: parts.flatMap(({ parameters }) => parameters),
  };
}
