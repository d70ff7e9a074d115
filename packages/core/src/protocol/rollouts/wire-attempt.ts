import { z } from 'zod';
import type { Attempt, AttemptStatus } from '../../store/attempt.ts';
import { wireJsonObject } from '../wire-json.ts';
import { msFromSeconds, msFromSecondsOrNull, secondsFromMs, secondsFromMsOrNull } from '../wire-time.ts';

/** The statuses of an attempt. */
export const wireAttemptStatusSchema: z.ZodType<AttemptStatus> = z.enum([
  'preparing',
  'running',
  'succeeded',
  'failed',
  'unresponsive',
  'timeout',
]);

/** An attempt in the store protocol. Times are Unix seconds. */
export const attemptCodec: z.ZodType<Attempt> = z.codec(
  z.object({
    rollout_id: z.string(),
    attempt_id: z.string(),
    sequence_id: z.int(),
    status: wireAttemptStatusSchema,
    worker_id: z.string().nullish(),
    start_time: z.number(),
    end_time: z.number().nullish(),
    last_heartbeat_time: z.number().nullish(),
    metadata: wireJsonObject.nullish(),
  }),
  z.custom<Attempt>(),
  {
    decode: (wire) => ({
      rolloutId: wire.rollout_id,
      attemptId: wire.attempt_id,
      sequenceId: wire.sequence_id,
      status: wire.status,
      workerId: wire.worker_id ?? null,
      startTimeMs: msFromSeconds(wire.start_time),
      endTimeMs: msFromSecondsOrNull(wire.end_time),
      lastHeartbeatTimeMs: msFromSecondsOrNull(wire.last_heartbeat_time),
      metadata: wire.metadata ?? null,
    }),
    encode: (attempt) => ({
      rollout_id: attempt.rolloutId,
      attempt_id: attempt.attemptId,
      sequence_id: attempt.sequenceId,
      status: attempt.status,
      worker_id: attempt.workerId,
      start_time: secondsFromMs(attempt.startTimeMs),
      end_time: secondsFromMsOrNull(attempt.endTimeMs),
      last_heartbeat_time: secondsFromMsOrNull(attempt.lastHeartbeatTimeMs),
      metadata: attempt.metadata,
    }),
  },
);

/** The body of a request to start an attempt. */
export const wireAttemptStartSchema: z.ZodType<{ readonly worker_id?: string | null | undefined }> = z.object({
  worker_id: z.string().nullish(),
});
