import type { JsonValue } from '@agentlightning/core';

/** Vendor-specific efforts, and the nearest one that engines accept. */
const nearest: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'high', max: 'high' };

/** The reasoning effort in the terms of chat engines; empty when the agent sets none. */
export function reasoningEffort(effort: JsonValue | undefined): string | undefined {
  return typeof effort === 'string' ? (nearest[effort] ?? effort) : undefined;
}
