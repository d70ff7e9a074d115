import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressText, redactAddress, redactAddresses, withoutPasswords } from './address-text.ts';
import { TextScanner } from './text-scanner.ts';

describe('redacted address', () => {
  test.each([
    ['postgres://agl:secret@db:5432/agl?sslmode=require', 'postgres://…@db:5432/agl?sslmode=require'],
    ['postgresql://agl@db/agl', 'postgresql://…@db/agl'],
    ['postgres://agl:sec/r@et@db/agl', 'postgres://…@db/agl'],
    ['postgres://agl:12/34@db/agl', 'postgres://…@db/agl'],
    ['postgres://a/b:secret@db/agl', 'postgres://…@db/agl'],
    ['postgres://agl:two words\n@db/agl', 'postgres://…@db/agl'],
    [
      'postgres://db/agl?user=agl&password=secret&sslmode=require',
      'postgres://db/agl?user=agl&password=…&sslmode=require',
    ],
    ['postgres://db:5432/agl?password=secret', 'postgres://db:5432/agl?password=…'],
    ['postgres://db/agl?p%61ssword=secret', 'postgres://db/agl?p%61ssword=…'],
    ['postgres://db/agl?%zz=1&password=a&b', 'postgres://db/agl?%zz=1&password=…'],
    ['postgres://db?password=sec@ret', 'postgres://db?password=…'],
    ['http://db/v1?api_key=1&maxTokens=2&authToken=3', 'http://db/v1?api_key=…&maxTokens=2&authToken=…'],
    ['https://secret@there/v1/a@b', 'https://…@there/v1/a@b'],
    // A user without a scheme, and a scheme without its slashes.
    ['agl:secret@db:5432/agl', '…@db:5432/agl'],
    ['postgres:agl:secret@db/agl', 'postgres:…@db/agl'],
    ['//agl:secret@db/agl', '//…@db/agl'],
    ['sqlite:postgres://agl:secret@db/agl', 'sqlite:postgres://…@db/agl'],
    // A password with a `?`, or a parameter with an `@`: ambiguous, so both are redacted.
    ['postgres://db:5432/agl?password=sec@ret&sslmode=require', 'postgres://…&sslmode=require'],
    ['postgres://agl:a?password=b@db/agl', 'postgres://…'],
  ])('%s', (address, shown) => expect(addressText(address)).toBe(shown));
});

test.each([
  'http://127.0.0.1:4747',
  'https://there/v1/a@b',
  'postgres://db:5432/agl?sslmode=require',
  'sqlite:/data/a:b@c/agl.db',
  'sqlite::memory:',
  ':memory:',
  './a:b@c/agl.db',
  '/data/a:b@c/agl.db',
  String.raw`C:\data\a@b\agl.db`,
  'agl.db',
  '',
])('%s is unchanged', (address) => {
  expect(addressText(address)).toBe(address);
});

/** The characters that must be redacted; no other part of an address has them. */
const secret = 'ΞΛΔ';
const odd = fc.constantFrom(...`:/?#[]@!$&'()*+,;=%\\"<>{}|^~ \t\n.-_é`, '%40', '%2F', '12', '//', '://', '?sslmode');

/** A password of special characters, with secret characters at any position. */
const password = fc.array(fc.oneof(odd, fc.constant(secret)), { minLength: 1, maxLength: 12 }).map((parts) => {
  return `${parts.join('')}${secret}`;
});
const user = fc.array(fc.oneof(odd, fc.constant('u')), { maxLength: 6 }).map((parts) => parts.join(''));
const begin = fc.constantFrom('postgres://', 'postgresql://', 'http://', 'https://', 'mysql://', '//');
const host = fc.constantFrom('db/agl', 'db:5432/agl', '[::1]:5432/agl', 'db', 'db/agl?sslmode=require', 'db/a?b=1&c=2');

describe('redaction of arbitrary passwords', () => {
  test('in the authority', () => {
    const parts = fc.record({ begin, user, password, host });
    fc.assert(
      fc.property(parts, (given) => {
        const shown = addressText(`${given.begin}${given.user}:${given.password}@${given.host}`);
        expect(shown).toBe(`${given.begin}…@${given.host}`);
        expect(addressText(shown)).toBe(shown);
      }),
      { numRuns: 1000 },
    );
  });

  test('in the authority, also with a parameter-like password or without slashes after the scheme', () => {
    const parts = fc.record({ begin, user, password, more: password, host });
    fc.assert(
      fc.property(parts, ({ more, ...given }) => {
        const rest = `${given.user}:${given.password}?password=${more}@${given.host}`;
        expect(addressText(given.begin + rest)).not.toContain(secret[0]);
        expect(addressText(`postgres:${rest}`)).not.toContain(secret[0]);
      }),
      { numRuns: 1000 },
    );
  });

  test('in a parameter, encoded or not', () => {
    const name = fc.constantFrom('password', 'sslpassword', 'PASSWORD', 'api_key', 'token');
    const parts = fc.record({ begin, host, name, password, isEncoded: fc.boolean() });
    fc.assert(
      fc.property(parts, (given) => {
        // A `&` ends a value for every parser.
        const value = given.isEncoded ? encodeURIComponent(given.password) : given.password.replaceAll('&', '');
        const mark = given.host.includes('?') ? '&' : '?';
        const shown = addressText(`${given.begin}${given.host}${mark}${given.name}=${value}&z=1`);
        expect(shown).not.toContain(secret[0]);
        expect(shown).not.toContain(encodeURIComponent(secret[0] ?? ''));
        expect(shown.endsWith('&z=1')).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test('within a text, where spaces and quotes end an address', () => {
    const inText = password.map((word) => word.replaceAll(/[\s"]/g, ''));
    fc.assert(
      fc.property(inText, host, (word, at) => {
        const text = withoutPasswords(`The store at postgres://agl:${word}@${at} is "http://x:${word}@${at}" too`);
        expect(text).toBe(`The store at postgres://…@${at} is "http://…@${at}" too`);
      }),
      { numRuns: 1000 },
    );
  });
});

test('a text without passwords is unchanged', () => {
  const text = 'error: a@b is not at http://127.0.0.1:4747 (see https://there/docs#a) → ask c:d@e';
  expect(withoutPasswords(text)).toBe(text);
});

describe('linear time', () => {
  const megabytes = 1_000_000;
  const linearFactor = 12;
  const part = fc.constantFrom(
    ...['a', '1', '://', 'a://', '/', ':', '@', '?', '&', '=', '#', ' ', '"', '.', '%61'],
    ...['&password=', '?a=', '&a', ';', 'postgres:', 'sqlite:', 'a:b@c', 'http://a:b@c?password=d&e=1 '],
  );
  const unit = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));

  function expectLinear(text: string, redact: (scanner: TextScanner) => string): void {
    const scanner = new TextScanner(text);
    redact(scanner);
    expect(scanner.charactersRead).toBeLessThanOrEqual(linearFactor * (text.length + 1));
  }

  test('for any repeated part between two others', () => {
    const size = fc.double({ min: 0, max: 4, noNaN: true }).map((exponent) => Math.round(10 ** exponent));
    fc.assert(
      fc.property(unit, unit, size, (begin, repeated, count) => {
        expectLinear(begin + repeated.repeat(count) + begin, redactAddress);
        expectLinear(begin + repeated.repeat(count) + begin, redactAddresses);
      }),
    );
  });

  test.each(['a', '://', '&password=', 'http://a:b@c?password=d&e=1 '])(
    'for 10 MB of "%s"',
    (repeated) => {
      expectLinear(`http://x${repeated.repeat((10 * megabytes) / repeated.length)}`, redactAddresses);
    },
    30_000,
  );
});

test('100,000 secret parameters are redacted without recursion', () => {
  const parameters = (value: string): string => `&password=${value}`.repeat(100_000);
  expect(addressText(`http://db?a=1${parameters('secret')}`)).toBe(`http://db?a=1${parameters('…')}`);
});
