import type { Attributes } from '../spans/span.ts';

/** Whether a value is an object of strings, numbers, booleans, and lists of them. */
export function isAttributes(value: unknown): value is Attributes {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  for (const entry of Object.values(value)) {
    if (!isPrimitive(entry) && !(Array.isArray(entry) && entry.every(isPrimitive))) return false;
  }
  return true;
}

function isPrimitive(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
