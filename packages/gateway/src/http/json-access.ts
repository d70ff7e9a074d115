import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';

export { numberOf, objectsOf, textOf } from '@agentlightning/core/adapter';

/** Whether a JSON value is a list. */
export function isJsonList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** A list; an empty one when it is something else. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonList(value) ? value : [];
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
