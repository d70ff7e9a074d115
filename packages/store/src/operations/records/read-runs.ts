import { NotFoundError, type Run } from '@agentlightning/core';
import type { MetricPoint, MetricQuery, RunQuery } from '@agentlightning/core/store';
import { metricPointFromRow, runFromRow } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { equals, type ListPage, type PageWindow, readPage } from '../../sql/page.ts';
import { readTextOrNull } from '../../sql/row-value.ts';

/**
 * Loads a run.
 *
 * @throws NotFoundError when it does not exist
 */
export async function loadRun(context: OperationContext, runId: string): Promise<Run> {
  const [row] = await context.db.all('SELECT * FROM runs WHERE run_id = ?', [runId]);
  if (row === undefined) throw new NotFoundError('Run', runId);
  return runFromRow(row);
}

/** Lists runs, newest first. Text of the state that looks like another kind is not excluded: readers check the kind. */
export function queryRuns(
  context: OperationContext,
  { kind, ...options }: RunQuery,
  window: PageWindow,
): Promise<ListPage<Run>> {
  return readPage<Run, never>(context, {
    columns: '*',
    from: 'runs',
    conditions: kind === undefined ? [] : [{ sql: 'state LIKE ?', parameters: [`%"kind":"${kind}"%`] }],
    sortColumns: {},
    tieBreaker: 'position',
    query: { ...options, sortOrder: 'desc' },
    window,
    toItem: runFromRow,
  });
}

/**
 * Lists the metrics of a run, in order of step by default.
 *
 * @throws NotFoundError when the run does not exist
 */
export async function queryMetrics(
  context: OperationContext,
  { runId, query }: { readonly runId: string; readonly query: MetricQuery },
  window: PageWindow,
): Promise<ListPage<MetricPoint>> {
  await loadRun(context, runId);
  return readPage<MetricPoint, never>(context, {
    columns: '*',
    from: 'metrics',
    conditions: [equals('run_id', runId)],
    sortColumns: {},
    tieBreaker: 'step',
    query,
    window,
    toItem: metricPointFromRow,
  });
}

/** The run of a rollout; null when it has none or the rollout does not exist. */
export async function findRunId(context: OperationContext, rolloutId: string): Promise<string | null> {
  const [row] = await context.db.all('SELECT run_id FROM rollouts WHERE rollout_id = ?', [rolloutId]);
  return row === undefined ? null : readTextOrNull(row, 'run_id');
}
