import * as z from 'zod';
import { type RolloutMode, rolloutModes } from '../../spans/model-call.ts';
import {
  type AttemptedRollout,
  defaultRolloutConfig,
  hasAttempt,
  type Rollout,
  type RolloutConfig,
} from '../../store/rollout.ts';
import type { RolloutStatus } from '../../store/rollout-status.ts';
import { attemptCodec, wireAttemptStatusSchema } from './wire-attempt.ts';
import { seconds } from './wire-fields.ts';
import { wireJson, wireJsonObject } from './wire-json.ts';

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
export const wireRolloutModeSchema: z.ZodType<RolloutMode> = z.enum(rolloutModes);

/** A rollout's configuration in the store protocol. Absent fields have their defaults. */
export const rolloutConfigCodec: z.ZodType<RolloutConfig> = z.codec(
  z.object({
    timeout_seconds: seconds.nullish(),
    unresponsive_seconds: seconds.nullish(),
    max_attempts: z.int().min(1).optional(),
    retry_condition: z.array(wireAttemptStatusSchema).optional(),
  }),
  z.custom<RolloutConfig>(),
  {
    decode: (wire) => ({
      timeoutMs: wire.timeout_seconds ?? null,
      unresponsiveMs: wire.unresponsive_seconds ?? null,
      maxAttempts: wire.max_attempts ?? defaultRolloutConfig.maxAttempts,
      retryCondition: wire.retry_condition ?? defaultRolloutConfig.retryCondition,
    }),
    encode: (config) => ({
      timeout_seconds: config.timeoutMs,
      unresponsive_seconds: config.unresponsiveMs,
      max_attempts: config.maxAttempts,
      retry_condition: [...config.retryCondition],
    }),
  },
);

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
    start_time: seconds,
    end_time: seconds.nullish(),
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
      startTimeMs: wire.start_time,
      endTimeMs: wire.end_time ?? null,
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
      start_time: rollout.startTimeMs,
      end_time: rollout.endTimeMs,
      ...(hasAttempt(rollout) ? { attempt: rollout.attempt } : {}),
    }),
  },
);

/** A rollout with its attempt: the response to claiming and starting. */
export const attemptedRolloutCodec: z.ZodType<AttemptedRollout> = z.intersection(
  rolloutCodec,
  z.object({ attempt: attemptCodec }),
);

/** Adds the defaults of absent fields. */
export function completeRolloutConfig(config: Partial<RolloutConfig>): RolloutConfig {
  return {
    timeoutMs: config.timeoutMs ?? null,
    unresponsiveMs: config.unresponsiveMs ?? null,
    maxAttempts: config.maxAttempts ?? defaultRolloutConfig.maxAttempts,
    retryCondition: config.retryCondition ?? defaultRolloutConfig.retryCondition,
  };
}
