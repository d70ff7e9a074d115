import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import type { Worker, WorkerStatus } from '../worker.ts';
import { wireJsonObject } from './wire-json.ts';
import { msFromSecondsOrNull, secondsFromMsOrNull } from './wire-time.ts';

/** A worker, as the store protocol has it. Times are Unix seconds. */
export interface WireWorker {
  readonly worker_id: string;
  readonly status: WorkerStatus;
  readonly heartbeat_stats?: JsonObject | null | undefined;
  readonly last_heartbeat_time?: number | null | undefined;
  readonly last_dequeue_time?: number | null | undefined;
  readonly last_busy_time?: number | null | undefined;
  readonly last_idle_time?: number | null | undefined;
  readonly current_rollout_id?: string | null | undefined;
  readonly current_attempt_id?: string | null | undefined;
}

/** The statuses of a worker. */
export const wireWorkerStatusSchema: z.ZodType<WorkerStatus> = z.enum(['idle', 'busy', 'unknown']);

/** The shape of {@link WireWorker}. */
export const wireWorkerSchema: z.ZodType<WireWorker> = z.object({
  worker_id: z.string(),
  status: wireWorkerStatusSchema,
  heartbeat_stats: wireJsonObject.nullish(),
  last_heartbeat_time: z.number().nullish(),
  last_dequeue_time: z.number().nullish(),
  last_busy_time: z.number().nullish(),
  last_idle_time: z.number().nullish(),
  current_rollout_id: z.string().nullish(),
  current_attempt_id: z.string().nullish(),
});

/** What a worker says of itself with a sign of life. */
export const wireWorkerHeartbeatSchema: z.ZodType<{ readonly heartbeat_stats?: JsonObject | undefined }> = z.object({
  heartbeat_stats: wireJsonObject.optional(),
});

/** A worker from the wire. */
export function workerFromWire(wire: WireWorker): Worker {
  return {
    workerId: wire.worker_id,
    status: wire.status,
    heartbeatStats: wire.heartbeat_stats ?? null,
    lastHeartbeatTimeMs: msFromSecondsOrNull(wire.last_heartbeat_time),
    lastDequeueTimeMs: msFromSecondsOrNull(wire.last_dequeue_time),
    lastBusyTimeMs: msFromSecondsOrNull(wire.last_busy_time),
    lastIdleTimeMs: msFromSecondsOrNull(wire.last_idle_time),
    currentRolloutId: wire.current_rollout_id ?? null,
    currentAttemptId: wire.current_attempt_id ?? null,
  };
}

/** A worker for the wire. */
export function workerToWire(worker: Worker): WireWorker {
  return {
    worker_id: worker.workerId,
    status: worker.status,
    heartbeat_stats: worker.heartbeatStats,
    last_heartbeat_time: secondsFromMsOrNull(worker.lastHeartbeatTimeMs),
    last_dequeue_time: secondsFromMsOrNull(worker.lastDequeueTimeMs),
    last_busy_time: secondsFromMsOrNull(worker.lastBusyTimeMs),
    last_idle_time: secondsFromMsOrNull(worker.lastIdleTimeMs),
    current_rollout_id: worker.currentRolloutId,
    current_attempt_id: worker.currentAttemptId,
  };
}
