/** Longer values are cut: who wrote them knows them by their beginning. */
const maxLength = 120;

/**
 * A value as it is shown in a message. Keys and secrets within it are not.
 *
 * @returns null when there is nothing to show
 */
export function valueText(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint' || typeof value === 'symbol' || Number.isNaN(value)) return String(value);
  if (typeof value === 'number') return String(value);
  const text = jsonText(value);
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

/** Whether a field of this name is for nobody's eyes. */
export function isSecret(name: PropertyKey | undefined): boolean {
  return typeof name === 'string' && /key|secret|password/i.test(name);
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
