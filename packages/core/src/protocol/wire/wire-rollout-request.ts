import * as z from 'zod';
import type { EnqueueRolloutRequest, StartRolloutRequest } from '../../store/rollout.ts';
import type { RolloutPatch } from '../../store/store.ts';
import { fieldCodec } from './wire-fields.ts';
import { omitNullish, wireJson, wireJsonObject } from './wire-json.ts';
import {
  completeRolloutConfig,
  rolloutConfigCodec,
  wireRolloutModeSchema,
  wireRolloutStatusSchema,
} from './wire-rollout.ts';

/**
 * A request to enqueue or start a rollout in the store protocol. The extensions are `rollout_id`, an idempotency key
 * chosen by the client, and `run_id`; a request to enqueue has no worker.
 */
export const rolloutRequestCodec: z.ZodType<StartRolloutRequest> = z.codec(
  z.object({
    rollout_id: z.string().min(1).nullish(),
    input: wireJson,
    mode: wireRolloutModeSchema.nullish(),
    resources_id: z.string().nullish(),
    run_id: z.string().nullish(),
    config: rolloutConfigCodec.nullish(),
    metadata: wireJsonObject.nullish(),
    worker_id: z.string().nullish(),
  }),
  z.custom<StartRolloutRequest>(),
  {
    decode: (wire) => ({
      input: wire.input,
      ...omitNullish({
        rolloutId: wire.rollout_id,
        mode: wire.mode,
        resourcesId: wire.resources_id,
        runId: wire.run_id,
        config: wire.config,
        metadata: wire.metadata,
        workerId: wire.worker_id,
      }),
    }),
    encode: (request) => ({
      input: request.input,
      ...omitNullish({
        rollout_id: request.rolloutId,
        mode: request.mode,
        resources_id: request.resourcesId,
        run_id: request.runId,
        config: request.config === undefined ? null : completeRolloutConfig(request.config),
        metadata: request.metadata,
        worker_id: request.workerId,
      }),
    }),
  },
);

/** Rollouts to enqueue, in one object in the store protocol. */
export const enqueueCodec: z.ZodType<readonly EnqueueRolloutRequest[]> = fieldCodec(
  'rollouts',
  z.array(rolloutRequestCodec),
);

/**
 * Changes to a rollout in the store protocol: null is written, an absent field is unchanged. Status and configuration
 * cannot be null.
 */
export const rolloutPatchCodec: z.ZodType<RolloutPatch> = z.codec(
  z.object({
    input: wireJson.optional(),
    mode: wireRolloutModeSchema.nullish(),
    resources_id: z.string().nullish(),
    status: wireRolloutStatusSchema.optional(),
    config: rolloutConfigCodec.optional(),
    metadata: wireJsonObject.nullish(),
  }),
  z.custom<RolloutPatch>(),
  {
    decode: (wire) => ({
      ...(wire.input === undefined ? {} : { input: wire.input }),
      ...(wire.mode === undefined ? {} : { mode: wire.mode }),
      ...(wire.resources_id === undefined ? {} : { resourcesId: wire.resources_id }),
      ...(wire.status === undefined ? {} : { status: wire.status }),
      ...(wire.config === undefined ? {} : { config: wire.config }),
      ...(wire.metadata === undefined ? {} : { metadata: wire.metadata }),
    }),
    encode: (patch) => ({
      input: patch.input,
      mode: patch.mode,
      resources_id: patch.resourcesId,
      status: patch.status,
      config: patch.config === undefined ? undefined : completeRolloutConfig(patch.config),
      metadata: patch.metadata,
    }),
  },
);
