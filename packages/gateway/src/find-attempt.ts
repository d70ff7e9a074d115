import type { Attempt, Store } from '@agentlightning/core';

/**
 * An attempt of a rollout; null when there is no such attempt. It is nearly always the latest one, which stores find
 * soonest; an older one may still be at work when it was given up too early.
 */
export async function findAttempt(store: Store, rolloutId: string, attemptId: string): Promise<Attempt | null> {
  const latest = await store.getLatestAttempt(rolloutId);
  if (latest === null || latest.attemptId === attemptId) return latest;
  const { items } = await store.queryAttempts(rolloutId);
  return items.find((attempt) => attempt.attemptId === attemptId) ?? null;
}
