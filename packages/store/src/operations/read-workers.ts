import { NotFoundError } from '@agentlightning/core';
import type { Worker, WorkerQuery } from '@agentlightning/core/store';
import { workerFromRow } from '../rows/row.ts';
import type { OperationContext } from '../sql/operation-runner.ts';
import { joinFilters, type ListPage, type PageWindow, readPage } from '../sql/page.ts';
import type { SqlCondition } from '../sql/sql-dialect.ts';

/** Finds a worker; null when it does not exist. */
export async function findWorker(context: OperationContext, workerId: string): Promise<Worker | null> {
  const [row] = await context.db.all('SELECT * FROM workers WHERE worker_id = ?', [workerId]);
  return row === undefined ? null : workerFromRow(row);
}

/**
 * Loads a worker.
 *
 * @throws NotFoundError when it does not exist
 */
export async function loadWorker(context: OperationContext, workerId: string): Promise<Worker> {
  const worker = await findWorker(context, workerId);
  if (worker === null) throw new NotFoundError('Worker', workerId);
  return worker;
}

/** Lists workers, ordered by id by default. */
export function queryWorkers(
  context: OperationContext,
  query: WorkerQuery,
  window: PageWindow,
): Promise<ListPage<Worker>> {
  const filters: SqlCondition[] = [];
  if (query.statusIn !== undefined) filters.push(context.dialect.isOneOf('status', query.statusIn));
  if (query.workerIdContains !== undefined) filters.push(context.dialect.contains('worker_id', query.workerIdContains));
  return readPage(context, {
    columns: '*',
    from: 'workers',
    conditions: [joinFilters(filters, query.filterLogic)],
    sortColumns: {
      workerId: 'worker_id',
      status: 'status',
      lastHeartbeatTimeMs: 'last_heartbeat_time_ms',
      lastDequeueTimeMs: 'last_dequeue_time_ms',
      lastBusyTimeMs: 'last_busy_time_ms',
      lastIdleTimeMs: 'last_idle_time_ms',
      currentRolloutId: 'current_rollout_id',
      currentAttemptId: 'current_attempt_id',
    },
    tieBreaker: 'worker_id',
    query,
    window,
    toItem: workerFromRow,
  });
}
