import type { JsonValue } from '@agentlightning/core';

/** Efforts that only a vendor's own models know, and the nearest one that engines take. */
const nearest: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'high', max: 'high' };

/** How hard a model is to think, in the words of chat engines; nothing where the agent does not say. */
export function reasoningEffort(effort: JsonValue | undefined): string | undefined {
  return typeof effort === 'string' ? (nearest[effort] ?? effort) : undefined;
}
