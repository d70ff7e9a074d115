import type { JsonObject, JsonValue } from '@agentlightning/core';

/** A framework value as JSON; null if it cannot be serialised. */
export function jsonOf(value: unknown): JsonValue {
  try {
    return JSON.parse(JSON.stringify(value) ?? 'null');
  } catch {
    // A cycle or a non-finite number: the value is omitted from the trace.
    return null;
  }
}

/** A non-empty string; null for any other value. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Removes null fields from an object. */
export function withoutNulls(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
