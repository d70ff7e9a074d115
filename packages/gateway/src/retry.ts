import type { Clock } from '@agentlightning/core';
import type { RetryOptions } from './gateway-options.ts';

/** The default retry options. */
export const defaultRetry: RetryOptions = {
  maxRetries: 5,
  baseDelayMs: 250,
  maxDelayMs: 8000,
  maxRetryAfterMs: 60_000,
};

/** When an operation is retried. */
export interface RetryPolicy {
  readonly clock: Clock;
  /** The signal that aborts a delay. @default none */
  readonly signal?: () => AbortSignal;
  /**
   * The delay before the next attempt, in milliseconds; null when the error is final.
   *
   * @param retryIndex - 0 for the first retry
   */
  readonly delayMs: (error: unknown, retryIndex: number) => number | null;
}

/** Retries an operation after its errors. @throws the last error */
export async function withRetry<TResult>(operation: () => Promise<TResult>, policy: RetryPolicy): Promise<TResult> {
  for (let retryIndex = 0; ; retryIndex += 1) {
    try {
      return await operation();
    } catch (error) {
      const delayMs = policy.delayMs(error, retryIndex);
      if (delayMs === null) throw error;
      // An aborted delay ends early; the operation checks the signal itself.
      if (delayMs > 0) await policy.clock.sleep(delayMs, policy.signal?.()).catch(() => undefined);
    }
  }
}

/** Whether an HTTP status is transient. 501 is not: what is not implemented now will not be then. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || (status >= 500 && status !== 501);
}

/** The delay of a `Retry-After` header in seconds or as a date, in milliseconds; null without a valid one. */
export function parseRetryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : null;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}

/**
 * Exponential backoff: doubled for each retry up to a maximum, with ±25 % jitter.
 *
 * @param retryIndex - 0 for the first retry
 * @param random - a number in [0, 1); 0.5 for no jitter
 */
export function backoffMs(
  { baseDelayMs, maxDelayMs }: Pick<RetryOptions, 'baseDelayMs' | 'maxDelayMs'>,
  retryIndex: number,
  random: number,
): number {
  return Math.min(maxDelayMs, baseDelayMs * 2 ** retryIndex) * (0.75 + 0.5 * random);
}
