import { AgentLightningError, type Clock, type ErrorCode } from '@agentlightning/core';

/** Failures of a service that may succeed when the request is repeated. */
const transientCodes: readonly ErrorCode[] = ['UNREACHABLE', 'TIMEOUT', 'STORE_FULL', 'RESOURCE_EXHAUSTED'];

/** Whether a request that failed with this error may succeed when it is repeated. */
export function isTransient(error: unknown): boolean {
  return AgentLightningError.isInstance(error) && transientCodes.includes(error.code);
}

/** The delay before a retry, in milliseconds: 100 after the first failure, doubled with each one, at most 5000. */
export function backoffMs(failures: number): number {
  return Math.min(100 * 2 ** (failures - 1), 5000);
}

/** How work is retried. */
export interface RetryOptions {
  readonly clock: Clock;
  /** Whether to retry after this failure; `failures` counts it, from 1. */
  readonly mayRetry: (error: unknown, failures: number) => boolean;
  /** Called before each retry. @default nothing is called */
  readonly onRetry?: (error: unknown) => void;
  /** The delay before the next attempt, in milliseconds. @default backoffMs */
  readonly delayMs?: (failures: number, error: unknown) => number;
  /** Ends the wait between attempts. @default never */
  readonly signal?: AbortSignal;
}

/**
 * Repeats work with exponential backoff until it succeeds.
 *
 * @throws the last failure, or the reason of the signal
 */
export async function withRetry<TResult>(work: () => Promise<TResult>, options: RetryOptions): Promise<TResult> {
  const { clock, mayRetry, onRetry, delayMs = backoffMs, signal } = options;
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (!mayRetry(error, failures)) throw error;
      onRetry?.(error);
      await clock.sleep(delayMs(failures, error), signal);
    }
  }
}
