import { isJsonObject, type JsonObject, type JsonValue } from '@agentlightning/core';

/** A number; null when it is something else. */
export function numberOf(value: JsonValue | undefined): number | null {
  return typeof value === 'number' ? value : null;
}

/** A text; null when it is something else. */
export function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

/** Whether a JSON value is a list. */
export function isJsonList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The objects in a list; none when it is no list. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return isJsonList(value) ? value.filter(isJsonObject) : [];
}

/** An object; an empty one when it is something else. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The fields that have a value: those that are undefined are left out, null stays. */
export function definedFields(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const defined: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) defined[name] = value;
  return defined;
}
