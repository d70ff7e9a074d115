import type { AttributeValue } from './span.ts';

/**
 * The attribute value nearest to any value: primitives and lists of one kind stay, everything else becomes text.
 *
 * Numbers that JSON cannot hold (`NaN`, `Infinity`) become text too, so that a span never fails to be stored.
 *
 * @returns null for null and undefined, which attributes do not have
 */
export function toAttributeValue(value: unknown): AttributeValue | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (Array.isArray(value)) return toAttributeList(value) ?? toJsonText(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  return toJsonText(value);
}

/** The list itself when it is one that an attribute may be: primitives of one kind; null otherwise. */
export function toAttributeList(values: readonly unknown[]): AttributeValue | null {
  if (values.every((value) => typeof value === 'string')) return values;
  if (values.every((value) => typeof value === 'number' && Number.isFinite(value))) return values as readonly number[];
  if (values.every((value) => typeof value === 'boolean')) return values;
  return null;
}

/** JSON of any value; where it has none (cycles, functions, big integers), its text. Never throws. */
export function toJsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? Object.prototype.toString.call(value);
  } catch {
    // Cycles, big integers and throwing getters have no JSON: what the value is called must do.
    return Object.prototype.toString.call(value);
  }
}
