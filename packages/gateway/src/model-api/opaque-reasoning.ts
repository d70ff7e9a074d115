import type { JsonValue } from '@agentlightning/core';

/** Vendor-specific efforts, and the nearest one that engines accept. */
const nearest: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'high', max: 'high' };

/** The reasoning effort in the terms of chat engines; empty when the agent sets none. */
export function reasoningEffort(effort: JsonValue | undefined): string | undefined {
  return typeof effort === 'string' ? (nearest[effort] ?? effort) : undefined;
}

/** Prefix of texts written by {@link encodeReasoning}. */
const sealPrefix = 'agl.';

/** Encodes reasoning as the opaque text that clients keep and send back when they do not show, or store, it. */
export function encodeReasoning(text: string): string {
  return sealPrefix + Buffer.from(text, 'utf8').toString('base64url');
}

/** Decodes an opaque text; null unless the gateway wrote it. */
export function decodeReasoning(sealed: string | null): string | null {
  if (sealed?.startsWith(sealPrefix) !== true) return null;
  return Buffer.from(sealed.slice(sealPrefix.length), 'base64url').toString('utf8');
}
