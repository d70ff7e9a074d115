import { isSecret } from './settings/secret-name.ts';

/** Stands where something is left out. */
const leftOut = '…';

/** What an address begins with. Of a PostgreSQL database, also when its slashes were forgotten. */
const scheme = /^(?:(?:[a-z][\w+.-]*:)?\/\/|postgres(?:ql)?:(?!\/\/))/i;

/** Other places that have a user and a password: those whose scheme was forgotten, but no files. */
const withoutScheme = /^(?!sqlite:)[^/\\:@]+:[^/\\].*@/is;

/** An address within a text: up to where a space or a quote ends it. */
const addressInText = /[a-z][\w+.-]*:\/\/[^\s"]+/gi;

/** What ends the value of a parameter: the next one. */
const nextParameter = /&[\w.%-]+=/;

/**
 * An address as it may be shown and kept: with `…` for user and password before the host, and for parameters that are
 * secret by their names, such as `?password=`. A file stays as it is.
 *
 * What is hidden is never part of what is shown, also where the password has characters that should have been encoded.
 * When it cannot be told where such a password ends, more is hidden than need be.
 *
 * @example
 * ```ts
 * addressText('postgres://agl:secret@db:5432/agl?sslmode=require'); // 'postgres://…@db:5432/agl?sslmode=require'
 * ```
 */
export function addressText(address: string): string {
  const [begin = ''] = scheme.exec(address) ?? [];
  if (begin === '' && !withoutScheme.test(address)) {
    // A mistaken `sqlite:postgres://…`; anything else is a file.
    const inner = address.search(addressInText);
    return inner <= 0 ? address : address.slice(0, inner) + addressText(address.slice(inner));
  }
  return begin + withoutUser(address.slice(begin.length));
}

/**
 * A text as it may be shown: every address in it is as {@link addressText} has it. Where a text is an address and nothing
 * else, that one knows better where it ends.
 */
export function withoutPasswords(text: string): string {
  return text.includes('://') ? text.replace(addressInText, addressText) : text;
}

/** What follows the scheme, without user and password. */
function withoutUser(rest: string): string {
  const end = rest.lastIndexOf('@');
  const before = rest.slice(0, Math.max(end, 0));
  const after = rest.slice(end + 1);
  // Without a colon there is no password, and an `@` behind a slash belongs to a path.
  if (!before.includes(':')) return withoutSecretParameters(rest.replace(/^[^/?]*@/, `${leftOut}@`));
  if (secretParameterEnd(before) === null) return `${leftOut}@${withoutSecretParameters(after)}`;
  // Either a password with a `?` in it, or a parameter with an `@`: then what follows belongs to it.
  const next = after.search(nextParameter);
  return leftOut + (next === -1 ? '' : withoutSecretParameters(after.slice(next)));
}

function withoutSecretParameters(text: string): string {
  const start = secretParameterEnd(text);
  if (start === null) return text;
  const value = text.slice(start);
  const next = value.search(nextParameter);
  return text.slice(0, start) + leftOut + (next === -1 ? '' : withoutSecretParameters(value.slice(next)));
}

/** Where the name of the first secret parameter ends and its value begins; null when there is none. */
function secretParameterEnd(text: string): number | null {
  for (const found of text.matchAll(/[?&;#]([^=?&;#]+)=/g)) {
    if (isSecret(decoded(found[1] ?? ''))) return found.index + found[0].length;
  }
  return null;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
