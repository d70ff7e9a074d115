import type { JsonObject } from '@agentlightning/core';
import { assertId, workerLeaseKey } from '@agentlightning/core/protocol';
import type { Worker } from '@agentlightning/core/store';
import type { OperationContext } from '../sql/operation-runner.ts';
import { toJson } from '../sql/row-value.ts';
import { loadWorker } from './read-workers.ts';

/** Records a worker's heartbeat and creates unknown workers; null statistics keep the previous ones. */
export async function updateWorker(
  context: OperationContext,
  workerId: string,
  heartbeatStats: JsonObject | null,
): Promise<Worker> {
  assertId('workerId', workerId);
  await context.db.run(
    `INSERT INTO workers (worker_id, status, heartbeat_stats, lease_ms, last_heartbeat_time_ms)
     VALUES (?, 'unknown', ?, ?, ?)
     ON CONFLICT (worker_id) DO UPDATE SET heartbeat_stats = coalesce(excluded.heartbeat_stats, workers.heartbeat_stats),
       lease_ms = CASE WHEN excluded.heartbeat_stats IS NULL THEN workers.lease_ms ELSE excluded.lease_ms END,
       last_heartbeat_time_ms = excluded.last_heartbeat_time_ms`,
    [
      workerId,
      heartbeatStats === null ? null : toJson(heartbeatStats, 'Heartbeat statistics'),
      leaseOf(heartbeatStats),
      context.nowMs,
    ],
  );
  return loadWorker(context, workerId);
}

/** The lease in the statistics, in milliseconds; null without a valid one. */
function leaseOf(heartbeatStats: JsonObject | null): number | null {
  const lease = heartbeatStats?.[workerLeaseKey];
  return typeof lease === 'number' && lease >= 0 ? lease : null;
}
