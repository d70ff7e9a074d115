/**
 * PostgreSQL's text cannot hold U+0000 or unpaired surrogates, unlike JavaScript strings. They are encoded as U+0010
 * (data link escape) and their code. JSON text is unaffected: `JSON.stringify` escapes all three.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are the subject.
const unstorable = /[\0\u0010\p{Surrogate}]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character.
const escaped = /\u0010([0-9a-f]{4})/g;

/** Encodes text for PostgreSQL. */
export function encodeText(text: string): string {
  return text.replace(unstorable, (character) => `\u0010${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Decodes text from PostgreSQL. */
export function decodeText(stored: string): string {
  if (!stored.includes('\u0010')) return stored;
  return stored.replace(escaped, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
