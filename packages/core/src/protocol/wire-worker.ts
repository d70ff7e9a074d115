import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import type { Worker, WorkerStatus } from '../store/worker.ts';
import { wireJsonObject } from './wire-json.ts';
import { msFromSecondsOrNull, secondsFromMsOrNull } from './wire-time.ts';

/** The statuses of a worker. */
export const wireWorkerStatusSchema: z.ZodType<WorkerStatus> = z.enum(['idle', 'busy', 'unknown']);

/** A worker in the store protocol. Times are Unix seconds. */
export const workerCodec: z.ZodType<Worker> = z.codec(
  z.object({
    worker_id: z.string(),
    status: wireWorkerStatusSchema,
    heartbeat_stats: wireJsonObject.nullish(),
    last_heartbeat_time: z.number().nullish(),
    last_dequeue_time: z.number().nullish(),
    last_busy_time: z.number().nullish(),
    last_idle_time: z.number().nullish(),
    current_rollout_id: z.string().nullish(),
    current_attempt_id: z.string().nullish(),
  }),
  z.custom<Worker>(),
  {
    decode: (wire) => ({
      workerId: wire.worker_id,
      status: wire.status,
      heartbeatStats: wire.heartbeat_stats ?? null,
      lastHeartbeatTimeMs: msFromSecondsOrNull(wire.last_heartbeat_time),
      lastDequeueTimeMs: msFromSecondsOrNull(wire.last_dequeue_time),
      lastBusyTimeMs: msFromSecondsOrNull(wire.last_busy_time),
      lastIdleTimeMs: msFromSecondsOrNull(wire.last_idle_time),
      currentRolloutId: wire.current_rollout_id ?? null,
      currentAttemptId: wire.current_attempt_id ?? null,
    }),
    encode: (worker) => ({
      worker_id: worker.workerId,
      status: worker.status,
      heartbeat_stats: worker.heartbeatStats,
      last_heartbeat_time: secondsFromMsOrNull(worker.lastHeartbeatTimeMs),
      last_dequeue_time: secondsFromMsOrNull(worker.lastDequeueTimeMs),
      last_busy_time: secondsFromMsOrNull(worker.lastBusyTimeMs),
      last_idle_time: secondsFromMsOrNull(worker.lastIdleTimeMs),
      current_rollout_id: worker.currentRolloutId,
      current_attempt_id: worker.currentAttemptId,
    }),
  },
);

/** The body of a worker's heartbeat. */
export const wireWorkerHeartbeatSchema: z.ZodType<{ readonly heartbeat_stats?: JsonObject | undefined }> = z.object({
  heartbeat_stats: wireJsonObject.optional(),
});
