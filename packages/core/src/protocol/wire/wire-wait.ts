import * as z from 'zod';
import type { ClaimOptions } from '../../store/store.ts';
import { msFromSeconds, optionsCodec, secondsFromMs, secondsOf } from './wire-fields.ts';

/** Request to claim rollouts. A limit of 0 or less claims none. */
export type ClaimRequest = Omit<ClaimOptions, 'signal'>;

/** Codec of {@link ClaimRequest}. `run_id` and `wait_seconds` are extensions. */
export const claimCodec: z.ZodType<ClaimRequest> = optionsCodec<ClaimRequest>({
  limit: ['limit', z.int().optional()],
  workerId: ['worker_id', z.string().nullish()],
  runId: ['run_id', z.string().nullish()],
  waitMs: ['wait_seconds', secondsOf(z.number().min(0)).nullish()],
});

/** Request to wait for rollouts. */
export interface WaitRequest {
  readonly rolloutIds: readonly string[];
  /** 0 does not wait, Infinity waits until the client disconnects. */
  readonly timeoutMs: number;
  /** `timeoutMs` of an event stream response, which has no duration limit. */
  readonly streamTimeoutMs: number;
  /** Rejects unknown ids, which the original protocol omits from the response. */
  readonly isStrict: boolean;
}

/** Codec of {@link WaitRequest}. `stream_timeout`, which defaults to `timeout`, and `is_strict` are extensions. */
export const waitCodec: z.ZodType<WaitRequest> = z.codec(
  z.object({
    rollout_ids: z.array(z.string()),
    timeout: z.number().nullish(),
    stream_timeout: z.number().nullish(),
    is_strict: z.boolean().optional(),
  }),
  z.custom<WaitRequest>(),
  {
    decode: ({ rollout_ids, timeout, stream_timeout, is_strict = false }) => ({
      rolloutIds: rollout_ids,
      timeoutMs: timeoutFromWire(timeout),
      streamTimeoutMs: timeoutFromWire(stream_timeout === undefined ? timeout : stream_timeout),
      isStrict: is_strict,
    }),
    encode: ({ rolloutIds, timeoutMs, streamTimeoutMs, isStrict }) => ({
      rollout_ids: [...rolloutIds],
      timeout: timeoutToWire(timeoutMs),
      stream_timeout: timeoutToWire(streamTimeoutMs),
      is_strict: isStrict,
    }),
  },
);

function timeoutFromWire(timeout: number | null | undefined): number {
  return timeout === null || timeout === undefined ? Number.POSITIVE_INFINITY : msFromSeconds(timeout);
}

function timeoutToWire(timeoutMs: number): number | null {
  return Number.isFinite(timeoutMs) ? secondsFromMs(timeoutMs) : null;
}
