import type { Attempt, Store } from '@agentlightning/core';

/**
 * Returns an attempt of a rollout; null if it does not exist. Tries the latest attempt first: nearly all calls come from
 * it, and stores find it fastest. An older one may still be running if it was given up too early.
 */
export async function findAttempt(store: Store, rolloutId: string, attemptId: string): Promise<Attempt | null> {
  const latest = await store.getLatestAttempt(rolloutId);
  if (latest === null || latest.attemptId === attemptId) return latest;
  const { items } = await store.queryAttempts(rolloutId);
  return items.find((attempt) => attempt.attemptId === attemptId) ?? null;
}
