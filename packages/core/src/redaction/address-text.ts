import { findNextParameter, findSecretValue, redacted, redactParameters, type TextRange } from './secret-parameters.ts';
import { TextScanner } from './text-scanner.ts';

/** Prefix of an address. For a PostgreSQL database, also without its slashes. */
const scheme = /^(?:(?:[a-z][\w+.-]*:)?\/\/|postgres(?:ql)?:(?!\/\/))/i;

/** Other addresses with user and password: those without a scheme, except files. */
const withoutScheme = /^(?!sqlite:)[^/\\:@]+:[^/\\].*@/is;

const schemeEnd = '://';

const letters = new Set('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');
const schemeCharacters = new Set([...letters, ...'0123456789_+.-']);

const isAt = (character: string): boolean => character === '@';
const isColon = (character: string): boolean => character === ':';
const isLetter = (character: string): boolean => letters.has(character);
const isOutsideScheme = (character: string): boolean => !schemeCharacters.has(character);
const isSpaceOrQuote = (character: string): boolean => character === '"' || character.trim() === '';
const endsAuthority = (character: string): boolean => character === '/' || character === '?';

/**
 * Redacts an address for display and storage: `…` replaces user and password, and the values of parameters with secret
 * names, such as `?password=`. A file path is unchanged.
 *
 * No character of a secret is shown, even if the password contains characters that should have been encoded. Where the
 * end of such a password is ambiguous, more than necessary is redacted. The time is linear in the length.
 *
 * @example
 * ```ts
 * addressText('postgres://agl:secret@db:5432/agl?sslmode=require'); // 'postgres://…@db:5432/agl?sslmode=require'
 * ```
 */
export function addressText(address: string): string {
  return redactAddress(new TextScanner(address));
}

/**
 * Redacts every address in a text as {@link addressText} does, up to a space or a quote. For a text that is one
 * address, use that function: it knows where the address ends. The time is linear in the length.
 */
export function withoutPasswords(text: string): string {
  return text.includes(schemeEnd) ? redactAddresses(new TextScanner(text)) : text;
}

/** Redacts the scanned text as one address. */
export function redactAddress(scanner: TextScanner): string {
  const { text } = scanner;
  const range = { start: 0, end: text.length };
  const [begin = ''] = scheme.exec(text) ?? [];
  if (begin === '' && !withoutScheme.test(text)) {
    // An erroneous `sqlite:postgres://…`; other values are file paths.
    const inner = findAddress(scanner, 0);
    return inner === null
      ? text
      : text.slice(0, inner.afterScheme) + redactUser(scanner, { ...range, start: inner.afterScheme });
  }
  return begin + redactUser(scanner, { ...range, start: begin.length });
}

/** Redacts every address in the scanned text. */
export function redactAddresses(scanner: TextScanner): string {
  let shown = '';
  let from = 0;
  for (let found = findAddress(scanner, from); found !== null; found = findAddress(scanner, from)) {
    shown += scanner.read(from, found.afterScheme) + redactUser(scanner, { start: found.afterScheme, end: found.end });
    from = found.end;
  }
  return shown + scanner.read(from, scanner.text.length);
}

/** The first address at or after an index; null without one. */
function findAddress(
  scanner: TextScanner,
  from: number,
): { readonly afterScheme: number; readonly end: number } | null {
  const { text } = scanner;
  let searched = from;
  for (;;) {
    const colon = scanner.find(searched, text.length, isColon);
    if (colon === text.length) return null;
    if (text.startsWith(schemeEnd, colon) && hasScheme(scanner, { start: searched, end: colon })) {
      const afterScheme = colon + schemeEnd.length;
      const end = scanner.find(afterScheme, text.length, isSpaceOrQuote);
      if (end > afterScheme) return { afterScheme, end };
    }
    searched = colon + 1;
  }
}

/** Whether a range ends with a scheme's name. */
function hasScheme(scanner: TextScanner, { start, end }: TextRange): boolean {
  const first = scanner.findLast(start, end, isOutsideScheme) + 1;
  return scanner.find(Math.max(first, start), end, isLetter) < end;
}

/** Redacts the part after the scheme. */
function redactUser(scanner: TextScanner, { start, end }: TextRange): string {
  const at = scanner.findLast(start, end, isAt);
  const beforeAt = { start, end: Math.max(at, start) };
  // Without a colon there is no password, and an `@` after a slash belongs to a path.
  if (scanner.find(start, beforeAt.end, isColon) === beforeAt.end) {
    const userEnd = scanner.findLast(start, scanner.find(start, end, endsAuthority), isAt);
    return userEnd === -1
      ? redactParameters(scanner, { start, end })
      : `${redacted}${redactParameters(scanner, { start: userEnd, end })}`;
  }
  if (findSecretValue(scanner, beforeAt) === null) return `${redacted}${redactParameters(scanner, { start: at, end })}`;
  // Either a password that contains `?`, or a parameter that contains `@`: the text up to the next parameter is
  // redacted too.
  const next = findNextParameter(scanner, { start: at + 1, end });
  return redacted + redactParameters(scanner, { start: next, end });
}
