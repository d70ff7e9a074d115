import { expect, test } from 'vitest';
import { crossOriginReason } from './cross-origin-request.ts';

test.each([
  [{ host: null, origin: null }],
  [{ host: '127.0.0.1:4747', origin: null }],
  [{ host: '[::1]:4747', origin: 'http://localhost:5173' }],
  [{ host: 'web.localhost', origin: 'http://[::1]:5173' }],
])('%j is admitted', (provenance) => {
  expect(crossOriginReason(provenance)).toBeNull();
});

test.each([
  [{ host: 'attacker.example:4747', origin: null }, 'the request was for attacker.example:4747'],
  [{ host: 'localhost.attacker.example', origin: null }, 'the request was for localhost.attacker.example'],
  [{ host: 'not a host', origin: null }, 'the request was for not a host'],
  [
    { host: '127.0.0.1', origin: 'https://attacker.example' },
    'the request came from a web page of https://attacker.example',
  ],
  [{ host: '127.0.0.1', origin: 'null' }, 'the request came from a web page of null'],
])('%j is rejected', (provenance, reason) => {
  expect(crossOriginReason(provenance)).toBe(reason);
});
