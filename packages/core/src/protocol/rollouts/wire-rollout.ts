import { z } from 'zod';
import { type AttemptedRollout, hasAttempt, type Rollout, type RolloutMode } from '../../store/rollout.ts';
import type { RolloutStatus } from '../../store/rollout-status.ts';
import { wireJson, wireJsonObject } from '../wire-json.ts';
import { msFromSeconds, msFromSecondsOrNull, secondsFromMs, secondsFromMsOrNull } from '../wire-time.ts';
import { attemptCodec } from './wire-attempt.ts';
import { completeRolloutConfig, rolloutConfigCodec } from './wire-rollout-config.ts';

/** The statuses of a rollout. */
export const wireRolloutStatusSchema: z.ZodType<RolloutStatus> = z.enum([
  'queuing',
  'preparing',
  'running',
  'succeeded',
  'failed',
  'requeuing',
  'cancelled',
]);

/** The modes of a rollout. */
export const wireRolloutModeSchema: z.ZodType<RolloutMode> = z.enum(['train', 'val', 'test']);

/**
 * A rollout, with its latest attempt if there is one, in the store protocol. Times are Unix seconds. `run_id` is an
 * extension.
 */
export const rolloutCodec: z.ZodType<Rollout | AttemptedRollout> = z.codec(
  z.object({
    rollout_id: z.string(),
    input: wireJson,
    status: wireRolloutStatusSchema,
    mode: wireRolloutModeSchema.nullish(),
    resources_id: z.string().nullish(),
    run_id: z.string().nullish(),
    config: rolloutConfigCodec.optional(),
    metadata: wireJsonObject.nullish(),
    start_time: z.number(),
    end_time: z.number().nullish(),
    attempt: attemptCodec.nullish(),
  }),
  z.custom<Rollout | AttemptedRollout>(),
  {
    decode: (wire) => ({
      rolloutId: wire.rollout_id,
      input: wire.input,
      status: wire.status,
      mode: wire.mode ?? null,
      resourcesId: wire.resources_id ?? null,
      runId: wire.run_id ?? null,
      config: wire.config ?? completeRolloutConfig({}),
      metadata: wire.metadata ?? null,
      startTimeMs: msFromSeconds(wire.start_time),
      endTimeMs: msFromSecondsOrNull(wire.end_time),
      ...(wire.attempt ? { attempt: wire.attempt } : {}),
    }),
    encode: (rollout) => ({
      rollout_id: rollout.rolloutId,
      input: rollout.input,
      status: rollout.status,
      mode: rollout.mode,
      resources_id: rollout.resourcesId,
      run_id: rollout.runId,
      config: rollout.config,
      metadata: rollout.metadata,
      start_time: secondsFromMs(rollout.startTimeMs),
      end_time: secondsFromMsOrNull(rollout.endTimeMs),
      ...(hasAttempt(rollout) ? { attempt: rollout.attempt } : {}),
    }),
  },
);

/** A rollout with its attempt: the response to claiming and starting. */
export const attemptedRolloutCodec: z.ZodType<AttemptedRollout> = z.intersection(
  rolloutCodec,
  z.object({ attempt: attemptCodec }),
);
