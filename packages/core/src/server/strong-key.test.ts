import { expect, test } from 'vitest';
import { assertStrongKey } from './strong-key.ts';

const server = { what: 'the store', option: 'AGL_STORE_KEY' };

test.each(['k', 'elevenchars'])('the key "%s" is refused beyond loopback', (key) => {
  expect(() => assertStrongKey(key, { ...server, host: '0.0.0.0' })).toThrow(
    /the store at 0\.0\.0\.0 .* has \d+ characters/,
  );
  expect(() => assertStrongKey(key, { ...server, host: '127.0.0.1' })).not.toThrow();
});

test.each([null, undefined, '', 'twelve-chars'])('the key %j is not short', (key) => {
  expect(() => assertStrongKey(key, { ...server, host: '0.0.0.0' })).not.toThrow();
});
