import type { TextScanner } from './text-scanner.ts';

/**
 * Names of secrets. `token` matches, `maxTokens` does not; environment variable settings match because a key may be
 * given by mistake.
 */
const secretName = /key|secret|pass(word|wd|phrase)|credential|authorization|cookie|token$|env$/i;

/** Whether a field of this name is secret. */
export function isSecret(name: PropertyKey | undefined): boolean {
  return typeof name === 'string' && secretName.test(name);
}

/** Placeholder for redacted text. */
export const redacted = '…';

/** A range of the scanned text. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

const nameCharacters = new Set('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.%-');
const isAmpersand = (character: string): boolean => character === '&';
const isDelimiter = (character: string): boolean => '?&;#'.includes(character);
const isDelimiterOrEquals = (character: string): boolean => character === '=' || isDelimiter(character);
const isOutsideName = (character: string): boolean => !nameCharacters.has(character);

/** Replaces the values of the parameters whose names are secret. A value ends at the next `&name=`. */
export function redactParameters(scanner: TextScanner, { start, end }: TextRange): string {
  let shown = '';
  let at = start;
  while (at < end) {
    const valueStart = findSecretValue(scanner, { start: at, end });
    if (valueStart === null) return shown + scanner.read(at, end);
    shown += scanner.read(at, valueStart) + redacted;
    at = findNextParameter(scanner, { start: valueStart, end });
  }
  return shown;
}

/** Start of the value of the first secret parameter; null without one. */
export function findSecretValue(scanner: TextScanner, { start, end }: TextRange): number | null {
  let at = scanner.find(start, end, isDelimiter);
  while (at < end) {
    const nameStart = at + 1;
    const nameEnd = scanner.find(nameStart, end, isDelimiterOrEquals);
    const hasValue = nameEnd < end && scanner.text[nameEnd] === '=';
    if (hasValue && isSecret(decoded(scanner.read(nameStart, nameEnd)))) return nameEnd + 1;
    at = hasValue ? scanner.find(nameEnd + 1, end, isDelimiter) : nameEnd;
  }
  return null;
}

/** Start of the next `&name=`; `end` without one. */
export function findNextParameter(scanner: TextScanner, { start, end }: TextRange): number {
  let at = scanner.find(start, end, isAmpersand);
  while (at < end) {
    const nameEnd = scanner.find(at + 1, end, isOutsideName);
    if (nameEnd > at + 1 && nameEnd < end && scanner.text[nameEnd] === '=') return at;
    at = scanner.find(nameEnd, end, isAmpersand);
  }
  return end;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
