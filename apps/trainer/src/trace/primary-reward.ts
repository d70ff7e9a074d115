import type { Span } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { findFinalReward } from '@agentlightning/core/spans';

/** The primary dimension of an attempt's final reward; null when it has none. */
export function primaryReward(spans: readonly Span[]): number | null {
  return findFinalReward(spans)?.rewards[0]?.value ?? null;
}

/** The primary rewards of the succeeded rollouts that have one. */
export function primaryRewards(rollouts: readonly CollectedRollout[]): readonly number[] {
  return rollouts.flatMap(({ rollout, spans }) => (rollout.status === 'succeeded' ? (primaryReward(spans) ?? []) : []));
}
