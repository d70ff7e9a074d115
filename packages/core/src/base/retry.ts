import { AgentLightningError } from './agent-lightning-error.ts';
import type { Clock } from './clock.ts';
import type { ErrorCode } from './error-catalogue.ts';

/** When an operation is retried. */
export interface RetryPolicy {
  readonly clock: Clock;
  /** Returns the signal that aborts a delay; called once per delay. @default none */
  readonly signal?: () => AbortSignal;
  /**
   * The delay before the next attempt, in milliseconds; null when the error is final.
   *
   * @param failures - failed attempts so far, at least 1
   */
  readonly delayMs: (error: unknown, failures: number) => number | null;
}

/** Retries a failed operation. @throws the last error, or the reason of the signal */
export async function withRetry<TResult>(operation: () => Promise<TResult>, policy: RetryPolicy): Promise<TResult> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await operation();
    } catch (error) {
      const delayMs = policy.delayMs(error, failures);
      if (delayMs === null) throw error;
      if (delayMs > 0) await policy.clock.sleep(delayMs, policy.signal?.());
    }
  }
}

/** Limits of exponential backoff, in milliseconds. */
export interface BackoffLimits {
  /** The delay after the first failure. */
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
}

/**
 * Exponential backoff: the delay doubles with each failure up to a maximum, with ±25 % jitter.
 *
 * @param failures - failed attempts so far, at least 1
 * @param random - a number in [0, 1). @default 0.5, no jitter
 */
export function backoffMs({ baseDelayMs, maxDelayMs }: BackoffLimits, failures: number, random = 0.5): number {
  return Math.min(maxDelayMs, baseDelayMs * 2 ** (failures - 1)) * (0.75 + 0.5 * random);
}

const transientCodes: readonly ErrorCode[] = ['UNREACHABLE', 'TIMEOUT', 'STORE_FULL', 'RESOURCE_EXHAUSTED'];

/** Whether a request that failed with this error may succeed when it is repeated. */
export function isTransient(error: unknown): boolean {
  return AgentLightningError.isInstance(error) && transientCodes.includes(error.code);
}

/** Whether an HTTP status is transient. 501 is not: a missing implementation is permanent. */
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
