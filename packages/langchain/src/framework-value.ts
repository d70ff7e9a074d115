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

/** A value as it is written into an attribute: texts as they are, everything else as JSON. */
export function attributeText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(jsonOf(value));
}

/** The fields of an object or a class; none of anything else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  const hasFields = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return hasFields ? (value as Readonly<Record<string, unknown>>) : {};
}

/** An object without the fields that are null. */
export function known(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
