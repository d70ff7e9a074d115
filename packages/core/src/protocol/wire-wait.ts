import { z } from 'zod';

/** What to take from the queue, as the store protocol has it. */
export interface WireClaimRequest {
  /** None are taken when it is 0 or less. @default 1 */
  readonly limit?: number | undefined;
  readonly worker_id?: string | null | undefined;
  /** Ours: only rollouts of this run. */
  readonly run_id?: string | null | undefined;
  /** Ours: how long to wait for the first one, in seconds. */
  readonly wait_seconds?: number | null | undefined;
}

/** The shape of {@link WireClaimRequest}. */
export const wireClaimRequestSchema: z.ZodType<WireClaimRequest> = z.object({
  limit: z.int().optional(),
  worker_id: z.string().nullish(),
  run_id: z.string().nullish(),
  wait_seconds: z.number().min(0).nullish(),
});

/** Which rollouts to wait for, as the store protocol has it. */
export interface WireWaitRequest {
  readonly rollout_ids: readonly string[];
  /** In seconds; 0 looks once, null waits until the client goes away. */
  readonly timeout?: number | null | undefined;
  /** Ours: `timeout` when the answer is a stream of events, which may take as long as it likes. @default as `timeout` */
  readonly stream_timeout?: number | null | undefined;
  /** Ours: refuse unknown ids. The protocol leaves them out of the answer. */
  readonly is_strict?: boolean | undefined;
}

/** The shape of {@link WireWaitRequest}. */
export const wireWaitRequestSchema: z.ZodType<WireWaitRequest> = z.object({
  rollout_ids: z.array(z.string()),
  timeout: z.number().nullish(),
  stream_timeout: z.number().nullish(),
  is_strict: z.boolean().optional(),
});

/** Whose next span sequence id is wanted. */
export interface WireSequenceIdRequest {
  readonly rollout_id: string;
  readonly attempt_id: string;
}

/** The shape of {@link WireSequenceIdRequest}. */
export const wireSequenceIdRequestSchema: z.ZodType<WireSequenceIdRequest> = z.object({
  rollout_id: z.string(),
  attempt_id: z.string(),
});

/** Many attempts whose next span sequence ids are wanted. */
export const wireSequenceIdBatchSchema: z.ZodType<{ readonly attempts: readonly WireSequenceIdRequest[] }> = z.object({
  attempts: z.array(wireSequenceIdRequestSchema),
});
