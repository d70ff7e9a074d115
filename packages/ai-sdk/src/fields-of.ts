/** The fields of a value that somebody else made, of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>;

/** A value's fields; none when it is no object. */
export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

/** Whether a value is an object, or a list. */
export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
