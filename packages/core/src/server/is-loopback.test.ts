import { expect, test } from 'vitest';
import { isLoopback } from './is-loopback.ts';

test.each(['localhost', 'web.localhost', '127.0.0.1', '127.255.0.3', '::1', '[::1]'])('%s is loopback', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['', '0.0.0.0', '::', '128.0.0.1', '127.example.com', 'localhost.example.com', '[::2]', '10.127.0.0.1'])(
  '"%s" is not loopback',
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
