/**
 * PostgreSQL's text holds neither U+0000 nor half a surrogate pair, and strings of JavaScript do. They are written as
 * U+0010 (data link escape) and their number. JSON text never needs it: `JSON.stringify` escapes all three by itself.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it is about.
const unstorable = /[\0\u0010\p{Surrogate}]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the character that the others are written with.
const escaped = /\u0010([0-9a-f]{4})/g;

/** The text as PostgreSQL can hold it. */
export function encodeText(text: string): string {
  return text.replace(unstorable, (character) => `\u0010${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The text that was encoded. */
export function decodeText(stored: string): string {
  if (!stored.includes('\u0010')) return stored;
  return stored.replace(escaped, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
