import { z } from 'zod';
import type { Attempt, AttemptStatus } from '../attempt.ts';
import type { JsonObject } from '../json.ts';
import type { AttemptPatch } from '../store.ts';
import { present } from './present.ts';
import { wireJsonObject } from './wire-json.ts';
import { msFromSeconds, msFromSecondsOrNull, secondsFromMs, secondsFromMsOrNull } from './wire-time.ts';

/** An attempt, as the store protocol has it. Times are Unix seconds. */
export interface WireAttempt {
  readonly rollout_id: string;
  readonly attempt_id: string;
  readonly sequence_id: number;
  readonly status: AttemptStatus;
  readonly worker_id?: string | null | undefined;
  readonly start_time: number;
  readonly end_time?: number | null | undefined;
  readonly last_heartbeat_time?: number | null | undefined;
  readonly metadata?: JsonObject | null | undefined;
}

/** The statuses of an attempt. */
export const wireAttemptStatusSchema: z.ZodType<AttemptStatus> = z.enum([
  'preparing',
  'running',
  'succeeded',
  'failed',
  'unresponsive',
  'timeout',
]);

/** The shape of {@link WireAttempt}. */
export const wireAttemptSchema: z.ZodType<WireAttempt> = z.object({
  rollout_id: z.string(),
  attempt_id: z.string(),
  sequence_id: z.int(),
  status: wireAttemptStatusSchema,
  worker_id: z.string().nullish(),
  start_time: z.number(),
  end_time: z.number().nullish(),
  last_heartbeat_time: z.number().nullish(),
  metadata: wireJsonObject.nullish(),
});

/** An attempt from the wire. */
export function attemptFromWire(wire: WireAttempt): Attempt {
  return {
    rolloutId: wire.rollout_id,
    attemptId: wire.attempt_id,
    sequenceId: wire.sequence_id,
    status: wire.status,
    workerId: wire.worker_id ?? null,
    startTimeMs: msFromSeconds(wire.start_time),
    endTimeMs: msFromSecondsOrNull(wire.end_time),
    lastHeartbeatTimeMs: msFromSecondsOrNull(wire.last_heartbeat_time),
    metadata: wire.metadata ?? null,
  };
}

/** An attempt for the wire. */
export function attemptToWire(attempt: Attempt): WireAttempt {
  return {
    rollout_id: attempt.rolloutId,
    attempt_id: attempt.attemptId,
    sequence_id: attempt.sequenceId,
    status: attempt.status,
    worker_id: attempt.workerId,
    start_time: secondsFromMs(attempt.startTimeMs),
    end_time: secondsFromMsOrNull(attempt.endTimeMs),
    last_heartbeat_time: secondsFromMsOrNull(attempt.lastHeartbeatTimeMs),
    metadata: attempt.metadata,
  };
}

/** Who starts an attempt. */
export const wireAttemptStartSchema: z.ZodType<{ readonly worker_id?: string | null | undefined }> = z.object({
  worker_id: z.string().nullish(),
});

/** What to change of an attempt. None of it may be null. */
export interface WireAttemptPatch {
  readonly status?: AttemptStatus | undefined;
  readonly worker_id?: string | undefined;
  readonly last_heartbeat_time?: number | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** The shape of {@link WireAttemptPatch}. */
export const wireAttemptPatchSchema: z.ZodType<WireAttemptPatch> = z.object({
  status: wireAttemptStatusSchema.optional(),
  worker_id: z.string().optional(),
  last_heartbeat_time: z.number().optional(),
  metadata: wireJsonObject.optional(),
});

/** What to change of an attempt, from the wire. */
export function attemptPatchFromWire(wire: WireAttemptPatch): AttemptPatch {
  return present({
    status: wire.status,
    workerId: wire.worker_id,
    lastHeartbeatTimeMs: wire.last_heartbeat_time === undefined ? undefined : msFromSeconds(wire.last_heartbeat_time),
    metadata: wire.metadata,
  });
}

/** What to change of an attempt, for the wire. */
export function attemptPatchToWire(patch: AttemptPatch): WireAttemptPatch {
  return present({
    status: patch.status,
    worker_id: patch.workerId,
    last_heartbeat_time: patch.lastHeartbeatTimeMs === undefined ? undefined : secondsFromMs(patch.lastHeartbeatTimeMs),
    metadata: patch.metadata,
  });
}
