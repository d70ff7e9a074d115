import type { Clock } from '@agentlightning/core';
import type { RuntimeHost } from './runtime-host.ts';

/** Bounds of the check interval, in milliseconds. */
const [shortestMs, longestMs] = [20, 60_000];

/**
 * Periodically unloads models without an owner, until the signal aborts. Clients that have ended do not trigger it.
 */
export async function unloadAbandonedModels(host: RuntimeHost, clock: Clock, signal: AbortSignal): Promise<void> {
  const { sessionTtlMs, abandonedModelTtlMs } = host.limits;
  if (abandonedModelTtlMs === 0) return;
  // Often enough to observe every session before it expires.
  const intervalMs = Math.min(longestMs, Math.max(shortestMs, Math.min(sessionTtlMs, abandonedModelTtlMs) / 4));
  while (!signal.aborted) {
    try {
      await clock.sleep(intervalMs, signal);
    } catch {
      return;
    }
    // An engine that fails to free a model must not end the server: the check repeats.
    await host.unloadAbandoned().catch(() => {});
  }
}
