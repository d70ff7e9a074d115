import type { JsonValue } from './json.ts';

/** An integer of 16 or more digits, which a number may not represent, or the same digits within a string. */
const longInteger = /(?<![\d.])\d{16,}(?![\d.eE])/;

/** Text outside of a string that may be a number whose text JavaScript would change; also some text within strings. */
const unusualNumber = /(?:^|[\s:,[])(?:-0(?![.\d])|-?0\.0{6}|-?\d+(?:\.\d*0(?!\d)|(?:\.\d+)?[eE])|-?\d[\d.]{15})/;

/** The source text of a number, which `JSON.parse` passes to its reviver. */
interface ParseContext {
  readonly source?: string;
}

const raw: { readonly rawJSON: (text: string) => JsonValue; readonly isRawJSON: (value: unknown) => boolean } =
  JSON as unknown as typeof raw;

/**
 * Parses JSON. Integers that a number cannot represent keep their text: serialised again, they are the same digits.
 *
 * @throws SyntaxError
 */
export function parseKeepingIntegers(text: string): JsonValue {
  if (!longInteger.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value: JsonValue, context?: ParseContext) =>
    isInexact(value, context) ? raw.rawJSON(context?.source ?? '') : value,
  );
}

/** Whether {@link parseKeepingNumbers} may keep the text of a number. */
export function hasUnusualNumbers(text: string): boolean {
  return unusualNumber.test(text);
}

/**
 * Parses JSON. Numbers that JavaScript writes differently keep their text, such as `1.0`, `1e3` and `-0`: serialised again,
 * they are the same characters.
 *
 * @throws SyntaxError
 */
export function parseKeepingNumbers(text: string): JsonValue {
  if (!hasUnusualNumbers(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value: JsonValue, context?: ParseContext) =>
    typeof value === 'number' && context?.source !== undefined && context.source !== JSON.stringify(value)
      ? raw.rawJSON(context.source)
      : value,
  );
}

/** Text that may be a number beyond the range of JavaScript's numbers. */
const distantNumber = /\d[eE][+-]?\d{2}|\d{300}/;

/**
 * The first number in a JSON text that would become another one: an integer that a number cannot represent, `1e400`, which
 * would be infinite, or `1e-400`, which would be 0; null for none. Further digits of fractions are rounded, and not found.
 *
 * @throws SyntaxError
 */
export function findInexactNumber(text: string): string | null {
  if (!longInteger.test(text) && !distantNumber.test(text)) return null;
  let found: string | null = null;
  JSON.parse(text, (_, value: JsonValue, context?: ParseContext) => {
    if (isInexact(value, context) || isOutOfRange(value, context)) found ??= context?.source ?? null;
    return value;
  });
  return found;
}

function isOutOfRange(value: JsonValue, context: ParseContext | undefined): boolean {
  if (typeof value !== 'number') return false;
  return !Number.isFinite(value) || (value === 0 && /^-?[\d.]*[1-9]/.test(context?.source ?? ''));
}

/** Whether a value is a number that kept its text. */
export function isRawJson(value: unknown): boolean {
  return raw.isRawJSON(value);
}

function isInexact(value: JsonValue, context: ParseContext | undefined): boolean {
  return (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value) &&
    /^-?\d+$/.test(context?.source ?? '') &&
    context?.source !== String(value)
  );
}

/**
 * The text of a JSON file: UTF-8, or UTF-16 by its byte order mark, as PowerShell writes it; without the mark.
 *
 * @returns null when the bytes are neither
 */
export function decodeJsonText(bytes: Uint8Array): string | null {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
