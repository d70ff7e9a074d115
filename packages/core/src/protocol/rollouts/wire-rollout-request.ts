import { z } from 'zod';
import type { StartRolloutRequest } from '../../store/rollout.ts';
import { present } from '../present.ts';
import { wireJson, wireJsonObject } from '../wire-json.ts';
import { wireRolloutModeSchema } from './wire-rollout.ts';
import { completeRolloutConfig, rolloutConfigCodec } from './wire-rollout-config.ts';

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
      ...present({
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
      ...present({
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

/** Request to enqueue rollouts. */
export interface EnqueueRequest {
  readonly rollouts: readonly StartRolloutRequest[];
}

/** Codec of {@link EnqueueRequest}. */
export const enqueueCodec: z.ZodType<EnqueueRequest> = z.object({ rollouts: z.array(rolloutRequestCodec) });
