/** Longer values are cut: who wrote them knows them by their beginning. */
const maxLength = 120;

/** Names of what is for nobody's eyes. A `token` is, `maxTokens` are not; where the name of a variable belongs may be a key. */
const secretName = /key|secret|pass(word|wd|phrase)|credential|authorization|cookie|token$|env$/i;

/** What an address has before its host, a password with characters that should have been encoded too. */
const userOfAddress = /:\/\/(?:[^/:\s"]*:[^\s"]*|[^/\s"]*)@/g;

/**
 * A value as it is shown in a message. Keys and secrets within it are not, nor the passwords of addresses.
 *
 * @returns null when there is nothing to show
 */
export function valueText(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint' || typeof value === 'symbol' || Number.isNaN(value)) return String(value);
  if (typeof value === 'number') return String(value);
  const text = jsonText(value).replace(userOfAddress, '://…@');
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

/** Whether a field of this name is for nobody's eyes. */
export function isSecret(name: PropertyKey | undefined): boolean {
  return typeof name === 'string' && secretName.test(name);
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value, (name, field: unknown) => {
      if (isSecret(name)) return '…';
      return typeof field === 'bigint' ? String(field) : field;
    });
  } catch {
    // It has itself in it, or a method `toJSON` that throws.
    return 'an object';
  }
}
