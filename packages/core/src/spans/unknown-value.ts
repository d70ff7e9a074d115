import { toJsonText } from './attribute-value.ts';

/** Fields of a value of unknown shape. */
export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value can have fields: an object, a list, a function or a class. */
export function hasFields(value: unknown): value is Fields {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** Fields of a value; empty for a primitive. */
export function fieldsOf(value: unknown): Fields {
  return hasFields(value) ? value : {};
}

/** A value as attribute text: a string unchanged, other values as JSON, or as the type tag without a JSON form. */
export function plainText(value: unknown): string {
  return typeof value === 'string' ? value : toJsonText(value);
}
