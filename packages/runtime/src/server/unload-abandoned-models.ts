import type { Clock } from '@agentlightning/core';
import type { RuntimeHost } from './runtime-host.ts';

/** How often is looked at most and at least, in milliseconds. */
const [shortestMs, longestMs] = [20, 60_000];

/**
 * Looks again and again for models that nobody owns any more, and unloads them, until the signal aborts. Nothing else
 * would: who has gone for good does not call.
 */
export async function unloadAbandonedModels(host: RuntimeHost, clock: Clock, signal: AbortSignal): Promise<void> {
  const { sessionTtlMs, abandonedModelTtlMs } = host.limits;
  if (abandonedModelTtlMs === 0) return;
  // Often enough to see every session before it lapses, and not to be late by much.
  const intervalMs = Math.min(longestMs, Math.max(shortestMs, Math.min(sessionTtlMs, abandonedModelTtlMs) / 4));
  while (!signal.aborted) {
    try {
      await clock.sleep(intervalMs, signal);
    } catch {
      return;
    }
    // An engine that fails to free a model must not end the server: the others are looked after next time.
    await host.unloadAbandoned().catch(() => {});
  }
}
