import { z } from 'zod';

/** A claim in the store protocol. */
export interface WireClaimRequest {
  /** No rollouts are claimed when it is 0 or less. @default 1 */
  readonly limit?: number | undefined;
  readonly worker_id?: string | null | undefined;
  /** Extension: only rollouts of this run. */
  readonly run_id?: string | null | undefined;
  /** Extension: maximum wait for the first rollout, in seconds. */
  readonly wait_seconds?: number | null | undefined;
}

/** Schema of {@link WireClaimRequest}. */
export const wireClaimRequestSchema: z.ZodType<WireClaimRequest> = z.object({
  limit: z.int().optional(),
  worker_id: z.string().nullish(),
  run_id: z.string().nullish(),
  wait_seconds: z.number().min(0).nullish(),
});

/** A wait for rollouts in the store protocol. */
export interface WireWaitRequest {
  readonly rollout_ids: readonly string[];
  /** In seconds; 0 does not wait, null waits until the client disconnects. */
  readonly timeout?: number | null | undefined;
  /** Extension: `timeout` of an event stream response, which has no duration limit. @default as `timeout` */
  readonly stream_timeout?: number | null | undefined;
  /** Extension: reject unknown ids, which the original protocol omits from the response. */
  readonly is_strict?: boolean | undefined;
}

/** Schema of {@link WireWaitRequest}. */
export const wireWaitRequestSchema: z.ZodType<WireWaitRequest> = z.object({
  rollout_ids: z.array(z.string()),
  timeout: z.number().nullish(),
  stream_timeout: z.number().nullish(),
  is_strict: z.boolean().optional(),
});

/** Request for the next span sequence id of an attempt's rollout. */
export interface WireSequenceIdRequest {
  readonly rollout_id: string;
  readonly attempt_id: string;
}

/** Schema of {@link WireSequenceIdRequest}. */
export const wireSequenceIdRequestSchema: z.ZodType<WireSequenceIdRequest> = z.object({
  rollout_id: z.string(),
  attempt_id: z.string(),
});

/** Request for the next span sequence ids of several attempts. */
export const wireSequenceIdBatchSchema: z.ZodType<{ readonly attempts: readonly WireSequenceIdRequest[] }> = z.object({
  attempts: z.array(wireSequenceIdRequestSchema),
});
