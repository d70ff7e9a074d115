import { z } from 'zod';
import type { RolloutPatch } from '../../store/store.ts';
import { wireJson, wireJsonObject } from '../wire-json.ts';
import { wireRolloutModeSchema, wireRolloutStatusSchema } from './wire-rollout.ts';
import { completeRolloutConfig, rolloutConfigCodec } from './wire-rollout-config.ts';

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
