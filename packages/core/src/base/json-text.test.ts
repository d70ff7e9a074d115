import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultSecretFields } from '../redaction/secret-fields.ts';
import { parseObject } from './json-access.ts';
import { findInexactNumber, parseKeepingNumbers } from './json-text.ts';

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
  ['{"a":1e308,"b":"1e400","c":0e400,"d":0.0e-999,"e":5e-324}', null],
  ['{"a":[1e400]}', '1e400'],
  ['{"a":-1.5E+309}', '-1.5E+309'],
  ['{"a":1e-400}', '1e-400'],
  [`{"a":${'9'.repeat(400)}}`, '9'.repeat(400)],
])('the first number of %s that would become another one is %s', (text, found) => {
  expect(findInexactNumber(text)).toBe(found);
});

test.each([
  '[1.0,1e3,-0,1E+2,2.50,0.10,1e400,0.0000001,12345678901234567890,0.1234567890123456789]',
  '{"a":1.0,"b":{"c":-0,"d":[1e-05]},"e":"1.0"}',
  '[-0]',
  '-0',
  '1.0',
])('the numbers of %s keep their text', (text) => {
  expect(JSON.stringify(parseKeepingNumbers(text))).toBe(text);
});

test('numbers that JavaScript writes in the same way stay numbers', () => {
  expect(parseKeepingNumbers('[1, 1.0, 0.5, "-0"]')).toEqual([
    1,
    expect.objectContaining({ rawJSON: '1.0' }),
    0.5,
    '-0',
  ]);
});

test('every number keeps its text', () => {
  const number = fc.stringMatching(/^-?(0|[1-9]\d{0,22})(\.\d{1,22})?([eE][+-]?\d{1,3})?$/);
  fc.assert(
    fc.property(fc.array(number), (numbers) => {
      const text = `[${numbers.join(',')}]`;
      expect(JSON.stringify(parseKeepingNumbers(text))).toBe(text);
    }),
  );
});
