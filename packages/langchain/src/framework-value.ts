import type { JsonObject, JsonValue } from '@agentlightning/core';

/** A value of the framework as JSON; null when it has no such form. */
export function jsonOf(value: unknown): JsonValue {
  try {
    return JSON.parse(JSON.stringify(value) ?? 'null');
  } catch {
    // A cycle, or a number that JSON does not have: the trace goes without.
    return null;
  }
}

/** A text; null when it is something else, or empty. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** An object without the fields that are null. */
export function known(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
