import { findNextParameter, findSecretValue, redacted, redactParameters, type TextRange } from './secret-parameters.ts';
import { TextScanner } from './text-scanner.ts';

/** What an address begins with. Of a PostgreSQL database, also when its slashes are missing. */
const scheme = /^(?:(?:[a-z][\w+.-]*:)?\/\/|postgres(?:ql)?:(?!\/\/))/i;

/** Other locations that have a user and a password: those without a scheme, except files. */
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
 * An address as it may be shown and kept: with `…` for user and password before the host, and for parameters that are
 * secret by their names, such as `?password=`. A file stays as it is.
 *
 * No character of a secret is shown, also where the password has characters that should have been encoded. Where the
 * end of such a password is ambiguous, more is redacted than necessary. The time is linear in the length.
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
 * A text as it may be shown: every address in it is as {@link addressText} has it, up to a space or a quote. Where the
 * text is one address and nothing else, use that function: it knows where the address ends. The time is linear in the
 * length.
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
    // A mistaken `sqlite:postgres://…`; anything else is a file.
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

/** The first address at or after an index; null when there is none. */
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

/** Redacts what follows the scheme. */
function redactUser(scanner: TextScanner, { start, end }: TextRange): string {
  const at = scanner.findLast(start, end, isAt);
  const beforeAt = { start, end: Math.max(at, start) };
  // Without a colon there is no password, and an `@` behind a slash belongs to a path.
  if (scanner.find(start, beforeAt.end, isColon) === beforeAt.end) {
    const userEnd = scanner.findLast(start, scanner.find(start, end, endsAuthority), isAt);
    return userEnd === -1
      ? redactParameters(scanner, { start, end })
      : `${redacted}${redactParameters(scanner, { start: userEnd, end })}`;
  }
  if (findSecretValue(scanner, beforeAt) === null) return `${redacted}${redactParameters(scanner, { start: at, end })}`;
  // Either a password with a `?` in it, or a parameter with an `@`: the rest up to the next parameter is redacted too.
  const next = findNextParameter(scanner, { start: at + 1, end });
  return redacted + redactParameters(scanner, { start: next, end });
}
