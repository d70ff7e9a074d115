import { AgentLightningError, type Clock } from '@agentlightning/core';
import { backoffMs, isTransient, systemClock, withRetry } from '@agentlightning/core/internal';

/** Options of waiting for a service. */
export interface ServiceWait {
  /** Maximum wait, in milliseconds. */
  readonly timeoutMs: number;
  /** Called once when the service is not available, with a message. */
  readonly onWait: (message: string) => void;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/** Options of {@link waitForService}. */
export interface WaitForServiceOptions extends ServiceWait {
  /** Its name in a sentence: `the store at http://…`. */
  readonly what: string;
  /** @default systemClock */
  readonly clock?: Clock;
}

const retryBackoff = { baseDelayMs: 100, maxDelayMs: 2000 };

/**
 * Connects to a service, and waits until it is available: the services of a run may be started in any order.
 *
 * @throws the error of the service when it is permanent, or when the time is over
 */
export async function waitForService<TService>(
  connect: () => Promise<TService>,
  { what, timeoutMs, onWait, signal, clock = systemClock }: WaitForServiceOptions,
): Promise<TService> {
  const deadlineMs = clock.now() + timeoutMs;
  return await withRetry(connect, {
    clock,
    signal: () => signal,
    delayMs: (error, failures) => {
      const leftMs = deadlineMs - clock.now();
      if (!isUnavailable(error) || leftMs <= 0 || signal.aborted) return null;
      if (failures === 1) onWait(waitText(what, error, timeoutMs));
      return Math.min(leftMs, backoffMs(retryBackoff, failures));
    },
  });
}

/** Whether a service may become available. */
export function isUnavailable(error: unknown): boolean {
  if (isTransient(error)) return true;
  return AgentLightningError.isInstance(error) && error.code === 'RUNTIME_UNAVAILABLE';
}

function waitText(what: string, error: unknown, timeoutMs: number): string {
  const reason = error instanceof Error ? error.message.replace(/^\[\w+\] /, '') : String(error);
  return `waiting for ${what}, at most ${timeoutMs / 1000} s: ${reason}`;
}
