import { AgentLightningError, type Clock } from '@agentlightning/core';
import { backoffMs, errorMessage, isTransient, systemClock, withRetry } from '@agentlightning/core/internal';

/** A service that a run depends on. */
export interface HealthCheck {
  /** Its name in a sentence: `the gateway`. */
  readonly what: string;
  /** Rejects when the service does not respond. */
  readonly check: () => Promise<void>;
}

/** A watch over the services that a run depends on. */
export interface HealthWatch {
  /** Resolves when all services respond; rejects when one is lost, or an outage exceeds the tolerance. */
  readonly assertHealthy: () => Promise<void>;
  readonly stop: () => void;
}

/** Options of a health watch. */
export interface HealthWatchOptions {
  readonly checks: readonly HealthCheck[];
  /** The time between two checks, in milliseconds. */
  readonly intervalMs: number;
  /** Maximum outage of a service, in milliseconds. */
  readonly outageToleranceMs: number;
  /** Called once at the start of each outage. */
  readonly onOutage: (error: AgentLightningError) => void;
  /** Called with the first permanent failure, which ends the watch. */
  readonly onFailure: (error: AgentLightningError) => void;
  /** @default systemClock */
  readonly clock?: Clock;
}

const retryBackoff = { baseDelayMs: 100, maxDelayMs: 1000 };

/**
 * Checks services periodically. Unreachable services may recover within the outage tolerance; all other failures
 * are permanent.
 */
export function watchHealth(options: HealthWatchOptions): HealthWatch {
  const { intervalMs, onFailure, clock = systemClock } = options;
  const stopped = new AbortController();
  const { signal } = stopped;
  const check = checkWithTolerance(options, { clock, signal });
  let running: Promise<void> | null = null;
  const assertHealthy = (): Promise<void> => {
    // Concurrent callers share one round of checks.
    running ??= check().finally(() => {
      running = null;
    });
    return running;
  };
  const watch = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(intervalMs, signal);
      await assertHealthy();
    }
  };
  watch().catch((error: unknown) => {
    if (!signal.aborted) onFailure(asUnreachable(error, 'a dependency'));
  });
  return {
    assertHealthy,
    stop: () => stopped.abort(new AgentLightningError({ code: 'CANCELLED', message: 'The health watch has ended' })),
  };
}

function checkWithTolerance(
  { checks, outageToleranceMs, onOutage }: HealthWatchOptions,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): () => Promise<void> {
  const checkAll = async (): Promise<void> => {
    for (const { what, check } of checks) {
      await check().catch((error: unknown) => {
        throw asUnreachable(error, what);
      });
    }
  };
  return async () => {
    const deadlineMs = clock.now() + outageToleranceMs;
    await withRetry(checkAll, {
      clock,
      signal: () => signal,
      delayMs: (error, failures) => {
        if (signal.aborted || !isTransient(error) || clock.now() >= deadlineMs) return null;
        if (failures === 1) onOutage(asUnreachable(error, 'a dependency'));
        return backoffMs(retryBackoff, failures);
      },
    });
  };
}

function asUnreachable(error: unknown, what: string): AgentLightningError {
  if (AgentLightningError.isInstance(error)) return error;
  const reason = errorMessage(error);
  return new AgentLightningError({ code: 'UNREACHABLE', message: `${what} does not respond: ${reason}`, cause: error });
}
