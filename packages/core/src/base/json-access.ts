import type { JsonObject, JsonValue } from './json.ts';
import { parseKeepingIntegers } from './json-text.ts';

/** The JSON object in a text, with its integers unchanged; null for invalid JSON and other JSON values. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value = parseKeepingIntegers(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whether a JSON value is an object: neither null nor a list. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects in a list; empty for other values. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return isList(value) ? value.filter(isObject) : [];
}

/** A list of numbers; null for other values. */
export function numbersOf(value: JsonValue | undefined): readonly number[] | null {
  return isList(value) && value.every(isNumber) ? value : null;
}

/** A number; null for other values. */
export function numberOf(value: JsonValue | undefined): number | null {
  return isNumber(value) ? value : null;
}

/** A string; null for other values. */
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
