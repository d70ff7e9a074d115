import type { JsonObject, JsonValue } from './json.ts';

/** The object that a text holds as JSON; null when it is no JSON, or no object. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value: JsonValue = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whether a JSON value is an object, and neither null nor a list. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects in a list; none when it is no list. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return isList(value) ? value.filter(isObject) : [];
}

/** A list of numbers; null when it is something else. */
export function numbersOf(value: JsonValue | undefined): readonly number[] | null {
  return isList(value) && value.every(isNumber) ? value : null;
}

/** A number; null when it is something else. */
export function numberOf(value: JsonValue | undefined): number | null {
  return isNumber(value) ? value : null;
}

/** A text; null when it is something else. */
export function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

/** Whether a JSON value is a list. */
export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function isNumber(value: JsonValue | undefined): value is number {
  return typeof value === 'number';
}
