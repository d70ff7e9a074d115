// Escapes that are valid in JSON text and not in jsonb: U+0000 and unpaired surrogates.
// Both sides of a comparison use the replacement character instead.
const unstorable = String.raw`\\u(0000|d[89a-f][0-9a-f]{2})`;

/** The JSON text of a column as `jsonb`, for comparisons only. Do not change it: an index uses this expression. */
export function comparableJsonOf(column: string): string {
  return String.raw`regexp_replace(${column}, '${unstorable}', '\\ufffd', 'g')::jsonb`;
}

/** JSON text of a value for comparison with {@link comparableJsonOf}. */
export function comparableJson(value: unknown): string {
  return JSON.stringify(value).replace(new RegExp(unstorable, 'g'), String.raw`\ufffd`);
}
