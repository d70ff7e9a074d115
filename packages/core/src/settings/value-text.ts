import { addressText, withoutPasswords } from '../redaction/address-text.ts';
import { isSecret } from '../redaction/secret-name.ts';

/** Maximum length of a shown value, in characters. */
const maxLength = 120;

/**
 * A value as shown in a message. Secrets and passwords of addresses are redacted.
 *
 * @returns null without a displayable form
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
      // A value that is entirely an address: its password can contain spaces and quotes.
      if (typeof field === 'string' && /^[a-z][\w+.-]*:\/\//i.test(field)) return addressText(field);
      return typeof field === 'bigint' ? String(field) : field;
    });
  } catch {
    // Circular, or with a throwing `toJSON`.
    return 'an object';
  }
}
