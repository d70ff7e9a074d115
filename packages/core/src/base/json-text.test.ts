import { expect, test } from 'vitest';
import { defaultSecretFields } from '../redaction/secret-fields.ts';
import { parseObject } from './json-access.ts';
import { findInexactInteger } from './json-text.ts';

test.each([
  '{"id":2512292042121000001}',
  '{"list":[9007199254740993,-9223372036854775808,{"n":18446744073709551615}],"text":"12345678901234567890"}',
])('%s is the same text after it was parsed, redacted and serialised', (text) => {
  expect(JSON.stringify(parseObject(text))).toBe(text);
  const withKey = `{"api_key":"…",${text.slice(1)}`;
  expect(JSON.stringify(defaultSecretFields.redact(parseObject(withKey.replace('…', 'sk')) ?? {}))).toBe(withKey);
});

test.each([
  ['{"a":9007199254740991,"b":9007199254740992,"c":0.1234567890123456789,"d":1e20,"e":"9007199254740993"}', null],
  ['{"a":[{"b":9007199254740993}]}', '9007199254740993'],
])('the first integer of %s that a number does not represent is %s', (text, found) => {
  expect(findInexactInteger(text)).toBe(found);
});
