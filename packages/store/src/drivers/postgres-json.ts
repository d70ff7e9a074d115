// What JSON text may hold and jsonb may not: U+0000 and halves of surrogate pairs, which only JSON's escapes can say.
// Both sides of a comparison get the replacement character in their place.
const unstorable = String.raw`\\u(0000|d[89a-f][0-9a-f]{2})`;

/** The JSON text of a column as `jsonb`, for comparisons alone. An index is made of this: it stays as it is. */
export function comparableJsonOf(column: string): string {
  return String.raw`regexp_replace(${column}, '${unstorable}', '\\ufffd', 'g')::jsonb`;
}

/** JSON text of a value, to be compared with {@link comparableJsonOf}. */
export function comparableJson(value: unknown): string {
  return JSON.stringify(value).replace(new RegExp(unstorable, 'g'), String.raw`\ufffd`);
}
