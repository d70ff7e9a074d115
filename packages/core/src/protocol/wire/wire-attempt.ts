import * as z from 'zod';
import type { Attempt, AttemptStatus } from '../../store/attempt.ts';
import type { AttemptPatch } from '../../store/store.ts';
import { optionsCodec, recordCodec, seconds } from './wire-fields.ts';
import { wireJsonObject } from './wire-json.ts';

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
export const attemptCodec: z.ZodType<Attempt> = recordCodec<Attempt>({
  rolloutId: ['rollout_id', z.string()],
  attemptId: ['attempt_id', z.string()],
  sequenceId: ['sequence_id', z.int()],
  status: ['status', wireAttemptStatusSchema],
  workerId: ['worker_id', z.string().nullish()],
  startTimeMs: ['start_time', seconds],
  endTimeMs: ['end_time', seconds.nullish()],
  lastHeartbeatTimeMs: ['last_heartbeat_time', seconds.nullish()],
  metadata: ['metadata', wireJsonObject.nullish()],
});

/** Changes to an attempt in the store protocol. No field may be null. */
export const attemptPatchCodec: z.ZodType<AttemptPatch> = optionsCodec<AttemptPatch>({
  status: ['status', wireAttemptStatusSchema.optional()],
  workerId: ['worker_id', z.string().optional()],
  lastHeartbeatTimeMs: ['last_heartbeat_time', seconds.optional()],
  metadata: ['metadata', wireJsonObject.optional()],
});

/** The worker of a new attempt, or null. */
export const attemptStartCodec: z.ZodType<string | null | undefined> = z.codec(
  z.object({ worker_id: z.string().nullish() }),
  z.custom<string | null | undefined>(),
  { decode: ({ worker_id }) => worker_id ?? null, encode: (workerId) => ({ worker_id: workerId ?? null }) },
);
