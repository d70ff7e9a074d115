import { backoffMs, isTransient, type RetryPolicy } from '@agentlightning/core/internal';
import type { RunnerServices } from './runner-services.ts';

/** The delay before a failed request to the store is repeated, in milliseconds. */
export function storeDelayMs(failures: number): number {
  return backoffMs({ baseDelayMs: 100, maxDelayMs: 5000 }, failures);
}

/** The policy of requests to the store: retries transient failures, and reports each that is followed by a retry. */
export function storeRetryPolicy(
  services: Pick<RunnerServices, 'clock' | 'failed'>,
  { doing, maxTries }: { readonly doing: string; readonly maxTries: number },
): RetryPolicy {
  return {
    clock: services.clock,
    delayMs: (error, failures) => {
      if (!isTransient(error) || failures >= maxTries) return null;
      services.failed(doing, error);
      return storeDelayMs(failures);
    },
  };
}
