import { z } from 'zod';
import type { JsonObject, JsonValue } from '../json.ts';
import type { EnqueueRolloutRequest, RolloutMode, StartRolloutRequest } from '../rollout.ts';
import type { RolloutStatus } from '../rollout-status.ts';
import type { RolloutPatch } from '../store.ts';
import { present } from './present.ts';
import { wireJson, wireJsonObject } from './wire-json.ts';
import {
  rolloutConfigFromWire,
  rolloutConfigToWire,
  type WireRolloutConfig,
  wireRolloutConfigSchema,
  wireRolloutModeSchema,
  wireRolloutStatusSchema,
} from './wire-rollout.ts';

/** What is needed to enqueue or start a rollout, as the store protocol has it. */
export interface WireRolloutRequest {
  /** Ours: chosen by the client, for idempotency. */
  readonly rollout_id?: string | null | undefined;
  readonly input: JsonValue;
  readonly mode?: RolloutMode | null | undefined;
  readonly resources_id?: string | null | undefined;
  /** Ours. */
  readonly run_id?: string | null | undefined;
  readonly config?: WireRolloutConfig | null | undefined;
  readonly metadata?: JsonObject | null | undefined;
  /** Only to start a rollout. */
  readonly worker_id?: string | null | undefined;
}

/** The shape of {@link WireRolloutRequest}. */
export const wireRolloutRequestSchema: z.ZodType<WireRolloutRequest> = z.object({
  rollout_id: z.string().min(1).nullish(),
  input: wireJson,
  mode: wireRolloutModeSchema.nullish(),
  resources_id: z.string().nullish(),
  run_id: z.string().nullish(),
  config: wireRolloutConfigSchema.nullish(),
  metadata: wireJsonObject.nullish(),
  worker_id: z.string().nullish(),
});

/** Several rollouts to enqueue. */
export const wireEnqueueSchema: z.ZodType<{ readonly rollouts: readonly WireRolloutRequest[] }> = z.object({
  rollouts: z.array(wireRolloutRequestSchema),
});

/** A request to start a rollout, from the wire; one to enqueue it has no worker. */
export function rolloutRequestFromWire(wire: WireRolloutRequest): StartRolloutRequest {
  return {
    input: wire.input,
    ...present({
      rolloutId: wire.rollout_id,
      mode: wire.mode,
      resourcesId: wire.resources_id,
      runId: wire.run_id,
      config: wire.config ? rolloutConfigFromWire(wire.config) : null,
      metadata: wire.metadata,
      workerId: wire.worker_id,
    }),
  };
}

/** A request to enqueue or start a rollout, for the wire. */
export function rolloutRequestToWire(request: EnqueueRolloutRequest | StartRolloutRequest): WireRolloutRequest {
  return {
    input: request.input,
    ...present({
      rollout_id: request.rolloutId,
      mode: request.mode,
      resources_id: request.resourcesId,
      run_id: request.runId,
      config: request.config === undefined ? null : rolloutConfigToWire(request.config),
      metadata: request.metadata,
      worker_id: 'workerId' in request ? request.workerId : null,
    }),
  };
}

/** What to change of a rollout. Status and configuration may not be null. */
export interface WireRolloutPatch {
  readonly input?: JsonValue | undefined;
  readonly mode?: RolloutMode | null | undefined;
  readonly resources_id?: string | null | undefined;
  readonly status?: RolloutStatus | undefined;
  readonly config?: WireRolloutConfig | undefined;
  readonly metadata?: JsonObject | null | undefined;
}

/** The shape of {@link WireRolloutPatch}. */
export const wireRolloutPatchSchema: z.ZodType<WireRolloutPatch> = z.object({
  input: wireJson.optional(),
  mode: wireRolloutModeSchema.nullish(),
  resources_id: z.string().nullish(),
  status: wireRolloutStatusSchema.optional(),
  config: wireRolloutConfigSchema.optional(),
  metadata: wireJsonObject.nullish(),
});

/** What to change of a rollout, from the wire. Null is written, what is absent stays. */
export function rolloutPatchFromWire(wire: WireRolloutPatch): RolloutPatch {
  return {
    ...(wire.input === undefined ? {} : { input: wire.input }),
    ...(wire.mode === undefined ? {} : { mode: wire.mode }),
    ...(wire.resources_id === undefined ? {} : { resourcesId: wire.resources_id }),
    ...(wire.status === undefined ? {} : { status: wire.status }),
    ...(wire.config === undefined ? {} : { config: rolloutConfigFromWire(wire.config) }),
    ...(wire.metadata === undefined ? {} : { metadata: wire.metadata }),
  };
}

/** What to change of a rollout, for the wire. */
export function rolloutPatchToWire(patch: RolloutPatch): WireRolloutPatch {
  return {
    input: patch.input,
    mode: patch.mode,
    resources_id: patch.resourcesId,
    status: patch.status,
    config: patch.config === undefined ? undefined : rolloutConfigToWire(patch.config),
    metadata: patch.metadata,
  };
}
