import type { JsonObject, JsonValue, RolloutStatus } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { z } from 'zod';

/** State of a rollout in the 1.0 protocol. */
export type WireState = 'queuing' | 'running' | 'succeeded' | 'failed';

/** The valid transitions. Terminal states are final. */
export const wireTransitions: Readonly<Record<WireState, readonly WireState[]>> = {
  queuing: ['running', 'failed'],
  running: ['succeeded', 'failed'],
  succeeded: [],
  failed: [],
};

/** The store statuses of a state; those of running states need further checks. */
export const statusesOfState: Readonly<Record<WireState, readonly RolloutStatus[]>> = {
  queuing: ['queuing', 'requeuing', 'preparing', 'running'],
  running: ['preparing', 'running'],
  succeeded: ['succeeded'],
  failed: ['failed', 'cancelled'],
};

/** The attempt name of 1.0 controllers: they only know one. */
export const defaultAttemptName = '0';

/** Execution limits of a rollout. */
export interface WireConfig {
  /** 0 for no limit. */
  readonly timeout_seconds: number;
  readonly local: { readonly agent_class: string | null; readonly env_map: Readonly<Record<string, string>> } | null;
  readonly k8s: { readonly job_template: string | null } | null;
}

/** A rollout to create. */
export interface WireRolloutCreate {
  readonly input: JsonValue;
  readonly is_train: boolean;
  readonly config: WireConfig;
  readonly metadata: JsonObject;
  readonly rollout_id: string | null;
}

/** A status update of a controller. */
export interface WireStatusPatch {
  readonly state?: WireState | null | undefined;
  readonly k8s_job_name?: string | null | undefined;
  readonly last_attempt_id?: string | null | undefined;
  readonly error_message?: string | null | undefined;
}

/** A rollout in the 1.0 protocol. Times are Unix seconds. */
export interface WireRollout {
  readonly rollout_id: string;
  readonly input: JsonValue;
  readonly is_train: boolean;
  readonly config: WireConfig;
  readonly metadata: JsonObject;
  readonly status: {
    readonly state: WireState;
    readonly k8s_job_name: string | null;
    readonly last_attempt_id: string | null;
    readonly error_message: string | null;
    readonly version: number;
    readonly created_at: number;
    readonly updated_at: number;
  };
}

/** An event of an attempt. The time is in Unix seconds. */
export interface WireEvent {
  readonly event_type: string;
  readonly rollout_id: string;
  readonly attempt_id: string;
  readonly timestamp: number;
  readonly data: JsonObject;
}

/** A model server. */
export interface WireModel {
  readonly model: string;
  readonly endpoint: string;
  readonly version: number;
}

const json = z.custom<JsonValue>((value) => value !== undefined, 'Field required');
const jsonObject = z.custom<JsonObject>((value) => isJsonObject(value as JsonValue), 'Input should be an object');
const text = z
  .string()
  .nullish()
  .transform((value) => value ?? null);

/** The schema of {@link WireState}. */
export const wireStateSchema: z.ZodType<WireState> = z.enum(['queuing', 'running', 'succeeded', 'failed']);

/** The schema of {@link WireConfig}; absent fields have their defaults. */
export const wireConfigSchema: z.ZodType<WireConfig> = z.object({
  timeout_seconds: z.int().default(3600),
  local: z
    .object({ agent_class: text, env_map: z.record(z.string(), z.string()).default({}) })
    .nullish()
    .transform((value) => value ?? null),
  k8s: z
    .object({ job_template: text })
    .nullish()
    .transform((value) => value ?? null),
});

const metadata = z
  .looseObject({ batch_idx: z.int().nullish(), sample_idx_in_batch: z.int().nullish() })
  .nullish()
  .transform((value) => (value ?? {}) as JsonObject);

/** The schema of a list of {@link WireRolloutCreate}. */
export const wireRolloutCreatesSchema: z.ZodType<readonly WireRolloutCreate[]> = z.array(
  z.object({
    input: json,
    is_train: z.boolean().default(true),
    config: wireConfigSchema.nullish().transform((value) => value ?? wireConfigSchema.parse({})),
    metadata,
    rollout_id: text,
  }),
);

/** The schema of a patch: only the status may change, and only these fields of it. */
export const wirePatchSchema: z.ZodType<{ readonly status?: WireStatusPatch | null | undefined }> = z.object({
  status: z
    .strictObject({
      state: wireStateSchema.nullish(),
      k8s_job_name: z.string().nullish(),
      last_attempt_id: z.string().nullish(),
      error_message: z.string().nullish(),
    })
    .nullish(),
});

/** The schema of an event to record. */
export const wireEventCreateSchema: z.ZodType<{ readonly event_type: string; readonly data: JsonObject }> = z.object({
  event_type: z.string(),
  data: jsonObject.default({}),
});

/** The schema of a list of {@link WireModel}. */
export const wireModelsSchema: z.ZodType<readonly WireModel[]> = z.array(
  z.object({ model: z.string(), endpoint: z.string(), version: z.int().default(0) }),
);

/** The schema of a pause request. */
export const wirePauseSchema: z.ZodType<{ readonly retry_after_seconds: number; readonly reason: string | null }> =
  z.object({ retry_after_seconds: z.int().default(5), reason: text });
