import { addressText, withoutPasswords } from '../redaction/address-text.ts';
import { isSecret } from './secret-name.ts';

/** Longer values are cut: who wrote them knows them by their beginning. */
const maxLength = 120;

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
  const text = withoutPasswords(jsonText(value));
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value, (name, field: unknown) => {
      if (isSecret(name)) return '…';
      // What is an address as a whole may have spaces and quotes in its password.
      if (typeof field === 'string' && /^[a-z][\w+.-]*:\/\//i.test(field)) return addressText(field);
      return typeof field === 'bigint' ? String(field) : field;
    });
  } catch {
    // It has itself in it, or a method `toJSON` that throws.
    return 'an object';
  }
}
