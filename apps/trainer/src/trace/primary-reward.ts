import type { Span } from '@agentlightning/core';
import { findFinalReward } from '@agentlightning/core/spans';

/** The primary dimension of an attempt's final reward; null when it has none. */
export function primaryReward(spans: readonly Span[]): number | null {
  return findFinalReward(spans)?.rewards[0]?.value ?? null;
}
