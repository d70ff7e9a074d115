import { z } from 'zod';
import type { AttemptPatch } from '../../store/store.ts';
import { present } from '../present.ts';
import { wireJsonObject } from '../wire-json.ts';
import { msFromSeconds, secondsFromMs } from '../wire-time.ts';
import { wireAttemptStatusSchema } from './wire-attempt.ts';

/** Changes to an attempt in the store protocol. No field may be null. */
export const attemptPatchCodec: z.ZodType<AttemptPatch> = z.codec(
  z.object({
    status: wireAttemptStatusSchema.optional(),
    worker_id: z.string().optional(),
    last_heartbeat_time: z.number().optional(),
    metadata: wireJsonObject.optional(),
  }),
  z.custom<AttemptPatch>(),
  {
    decode: ({ status, worker_id: workerId, last_heartbeat_time: seconds, metadata }) =>
      present({
        status,
        workerId,
        lastHeartbeatTimeMs: seconds === undefined ? undefined : msFromSeconds(seconds),
        metadata,
      }),
    encode: ({ status, workerId, lastHeartbeatTimeMs: timeMs, metadata }) =>
      present({
        status,
        worker_id: workerId,
        last_heartbeat_time: timeMs === undefined ? undefined : secondsFromMs(timeMs),
        metadata,
      }),
  },
);
