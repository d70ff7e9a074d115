import type { AttributeValue } from './span.ts';

/**
 * Converts any value to an attribute value: primitives and homogeneous lists are unchanged, other values become text.
 *
 * Numbers that JSON cannot represent (`NaN`, `Infinity`) also become text, because a store would reject them.
 *
 * @returns null for null and undefined, which attributes cannot represent
 */
export function toAttributeValue(value: unknown): AttributeValue | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (Array.isArray(value)) return toAttributeList(value) ?? toJsonText(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  return toJsonText(value);
}

/** The list itself when it is a valid attribute value: primitives of one type; null otherwise. */
export function toAttributeList(values: readonly unknown[]): AttributeValue | null {
  if (values.every((value) => typeof value === 'string')) return values;
  if (values.every((value) => typeof value === 'number' && Number.isFinite(value))) return values as readonly number[];
  if (values.every((value) => typeof value === 'boolean')) return values;
  return null;
}

/** JSON of any value; a type tag when it has no JSON form (cycles, functions, big integers). Never throws. */
export function toJsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? Object.prototype.toString.call(value);
  } catch {
    // Cycles, big integers and throwing getters have no JSON form.
    return Object.prototype.toString.call(value);
  }
}
