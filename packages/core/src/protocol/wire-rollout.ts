import { z } from 'zod';
import type { AttemptStatus } from '../attempt.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import {
  type AttemptedRollout,
  defaultRolloutConfig,
  hasAttempt,
  type Rollout,
  type RolloutConfig,
  type RolloutMode,
} from '../rollout.ts';
import type { RolloutStatus } from '../rollout-status.ts';
import {
  attemptFromWire,
  attemptToWire,
  type WireAttempt,
  wireAttemptSchema,
  wireAttemptStatusSchema,
} from './wire-attempt.ts';
import { wireJson, wireJsonObject } from './wire-json.ts';
import { msFromSeconds, msFromSecondsOrNull, secondsFromMs, secondsFromMsOrNull } from './wire-time.ts';

/** A rollout's configuration, as the store protocol has it. Absent fields have their defaults. */
export interface WireRolloutConfig {
  readonly timeout_seconds?: number | null | undefined;
  readonly unresponsive_seconds?: number | null | undefined;
  readonly max_attempts?: number | undefined;
  readonly retry_condition?: readonly AttemptStatus[] | undefined;
}

/** A rollout, as the store protocol has it. Times are Unix seconds. */
export interface WireRollout {
  readonly rollout_id: string;
  readonly input: JsonValue;
  readonly status: RolloutStatus;
  readonly mode?: RolloutMode | null | undefined;
  readonly resources_id?: string | null | undefined;
  /** Ours: the protocol has no runs. */
  readonly run_id?: string | null | undefined;
  readonly config?: WireRolloutConfig | undefined;
  readonly metadata?: JsonObject | null | undefined;
  readonly start_time: number;
  readonly end_time?: number | null | undefined;
  /** The latest attempt, where there is one. */
  readonly attempt?: WireAttempt | null | undefined;
}

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

/** The shape of {@link WireRolloutConfig}. */
export const wireRolloutConfigSchema: z.ZodType<WireRolloutConfig> = z.object({
  timeout_seconds: z.number().nullish(),
  unresponsive_seconds: z.number().nullish(),
  max_attempts: z.int().min(1).optional(),
  retry_condition: z.array(wireAttemptStatusSchema).optional(),
});

/** The shape of {@link WireRollout}. */
export const wireRolloutSchema: z.ZodType<WireRollout> = z.object({
  rollout_id: z.string(),
  input: wireJson,
  status: wireRolloutStatusSchema,
  mode: wireRolloutModeSchema.nullish(),
  resources_id: z.string().nullish(),
  run_id: z.string().nullish(),
  config: wireRolloutConfigSchema.optional(),
  metadata: wireJsonObject.nullish(),
  start_time: z.number(),
  end_time: z.number().nullish(),
  attempt: wireAttemptSchema.nullish(),
});

/** A rollout's configuration from the wire, with the defaults filled in. */
export function rolloutConfigFromWire(wire: WireRolloutConfig): RolloutConfig {
  return {
    timeoutMs: msFromSecondsOrNull(wire.timeout_seconds),
    unresponsiveMs: msFromSecondsOrNull(wire.unresponsive_seconds),
    maxAttempts: wire.max_attempts ?? defaultRolloutConfig.maxAttempts,
    retryCondition: wire.retry_condition ?? defaultRolloutConfig.retryCondition,
  };
}

/** A rollout's configuration for the wire. */
export function rolloutConfigToWire(config: Partial<RolloutConfig>): WireRolloutConfig {
  return {
    timeout_seconds: secondsFromMsOrNull(config.timeoutMs ?? null),
    unresponsive_seconds: secondsFromMsOrNull(config.unresponsiveMs ?? null),
    max_attempts: config.maxAttempts ?? defaultRolloutConfig.maxAttempts,
    retry_condition: config.retryCondition ?? defaultRolloutConfig.retryCondition,
  };
}

/** A rollout from the wire, with its latest attempt if it carries one. */
export function rolloutFromWire(wire: WireRollout): Rollout | AttemptedRollout {
  const rollout: Rollout = {
    rolloutId: wire.rollout_id,
    input: wire.input,
    status: wire.status,
    mode: wire.mode ?? null,
    resourcesId: wire.resources_id ?? null,
    runId: wire.run_id ?? null,
    config: rolloutConfigFromWire(wire.config ?? {}),
    metadata: wire.metadata ?? null,
    startTimeMs: msFromSeconds(wire.start_time),
    endTimeMs: msFromSecondsOrNull(wire.end_time),
  };
  return wire.attempt ? { ...rollout, attempt: attemptFromWire(wire.attempt) } : rollout;
}

/** A rollout for the wire, with its latest attempt if it carries one. */
export function rolloutToWire(rollout: Rollout | AttemptedRollout): WireRollout {
  const wire: WireRollout = {
    rollout_id: rollout.rolloutId,
    input: rollout.input,
    status: rollout.status,
    mode: rollout.mode,
    resources_id: rollout.resourcesId,
    run_id: rollout.runId,
    config: rolloutConfigToWire(rollout.config),
    metadata: rollout.metadata,
    start_time: secondsFromMs(rollout.startTimeMs),
    end_time: secondsFromMsOrNull(rollout.endTimeMs),
  };
  return hasAttempt(rollout) ? { ...wire, attempt: attemptToWire(rollout.attempt) } : wire;
}

/** A rollout with its attempt, as claiming and starting answer. */
export type WireAttemptedRollout = WireRollout & { readonly attempt: WireAttempt };

/** The shape of {@link WireAttemptedRollout}. */
export const wireAttemptedRolloutSchema: z.ZodType<WireAttemptedRollout> = z.intersection(
  wireRolloutSchema,
  z.object({ attempt: wireAttemptSchema }),
);

/** A rollout with its attempt, from the wire. */
export function attemptedRolloutFromWire(wire: WireAttemptedRollout): AttemptedRollout {
  return { ...rolloutFromWire(wire), attempt: attemptFromWire(wire.attempt) };
}
