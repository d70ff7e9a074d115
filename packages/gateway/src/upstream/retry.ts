import type { RetryOptions } from '../gateway-options.ts';

/** How failed calls are made again unless told otherwise. */
export const defaultRetry: RetryOptions = {
  maxRetries: 5,
  baseDelayMs: 250,
  maxDelayMs: 8000,
  maxRetryAfterMs: 60_000,
};

/** Whether an HTTP status says that the same call may succeed later. What is not implemented now will not be then. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || (status >= 500 && status !== 501);
}

/**
 * The milliseconds that a `Retry-After` header asks for, in seconds or as a date.
 *
 * @returns null when there is none, or none that makes sense
 */
export function parseRetryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : null;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}

/**
 * The delay before a retry: doubled each time, limited, and moved by up to 25 % so that callers spread out.
 *
 * @param retryIndex - 0 for the first retry
 * @param random - a number in [0, 1)
 */
export function backoffMs(options: RetryOptions, retryIndex: number, random: number): number {
  const delayMs = Math.min(options.maxDelayMs, options.baseDelayMs * 2 ** retryIndex);
  return delayMs * (0.75 + 0.5 * random);
}
