import * as z from 'zod';
import type { JsonObject } from '../../base/json.ts';
import type { Worker, WorkerStatus } from '../../store/worker.ts';
import { fieldCodec, recordCodec, seconds } from './wire-fields.ts';
import { wireJsonObject } from './wire-json.ts';

/** The statuses of a worker. */
export const wireWorkerStatusSchema: z.ZodType<WorkerStatus> = z.enum(['idle', 'busy', 'unknown']);

/** A worker in the store protocol. Times are Unix seconds. */
export const workerCodec: z.ZodType<Worker> = recordCodec<Worker>({
  workerId: ['worker_id', z.string()],
  status: ['status', wireWorkerStatusSchema],
  heartbeatStats: ['heartbeat_stats', wireJsonObject.nullish()],
  lastHeartbeatTimeMs: ['last_heartbeat_time', seconds.nullish()],
  lastDequeueTimeMs: ['last_dequeue_time', seconds.nullish()],
  lastBusyTimeMs: ['last_busy_time', seconds.nullish()],
  lastIdleTimeMs: ['last_idle_time', seconds.nullish()],
  currentRolloutId: ['current_rollout_id', z.string().nullish()],
  currentAttemptId: ['current_attempt_id', z.string().nullish()],
});

/** The statistics in a worker's heartbeat. */
export const workerHeartbeatCodec: z.ZodType<JsonObject | undefined> = fieldCodec(
  'heartbeat_stats',
  wireJsonObject.optional(),
);
