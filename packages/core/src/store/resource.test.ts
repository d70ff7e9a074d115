import { describe, expect, test } from 'vitest';
import { attemptBaseUrl } from './resource.ts';

describe('attempt base URL', () => {
  const attempt = { rolloutId: 'ro-1', attemptId: 'at-1' };

  test('has the attempt between the host and /v1', () => {
    expect(attemptBaseUrl('http://localhost:4750/v1', attempt)).toBe(
      'http://localhost:4750/rollout/ro-1/attempt/at-1/v1',
    );
  });

  test('drops trailing slashes', () => {
    expect(attemptBaseUrl('http://localhost:4750/v1//', attempt)).toBe(
      'http://localhost:4750/rollout/ro-1/attempt/at-1/v1',
    );
  });

  test('has no /v1 where the endpoint has none', () => {
    expect(attemptBaseUrl('http://localhost:4750/proxy', attempt)).toBe(
      'http://localhost:4750/proxy/rollout/ro-1/attempt/at-1',
    );
  });

  test('escapes ids', () => {
    expect(attemptBaseUrl('http://h', { rolloutId: 'a/../b', attemptId: '?' })).toBe(
      'http://h/rollout/a%2F..%2Fb/attempt/%3F',
    );
  });
});
