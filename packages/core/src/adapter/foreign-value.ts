import { toJsonText } from '../attribute-value.ts';

/** The fields of a value that somebody else made, of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value can have fields: an object, a list, a function or a class. */
export function hasFields(value: unknown): value is Fields {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** A value's fields; none when it can have none. */
export function fieldsOf(value: unknown): Fields {
  return hasFields(value) ? value : {};
}

/** A value as it is written into an attribute: a text as it is, anything else as JSON, or by its kind where it has none. */
export function plainText(value: unknown): string {
  return typeof value === 'string' ? value : toJsonText(value);
}
