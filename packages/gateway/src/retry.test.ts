import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs, defaultRetry, isRetryableStatus, parseRetryAfterMs } from './retry.ts';

describe('parseRetryAfterMs', () => {
  const nowMs = Date.parse('2026-11-21T10:00:00Z');

  it.each([
    ['2', 2000],
    ['0', 0],
    ['0.5', 500],
    ['Sat, 21 Nov 2026 10:00:07 GMT', 7000],
    ['Sat, 21 Nov 2026 09:00:00 GMT', 0],
    ['-1', null],
    ['soon', null],
    ['', null],
    [null, null],
  ])('takes %j for %j ms', (header, expected) => {
    expect(parseRetryAfterMs(header, nowMs)).toBe(expected);
  });
});

describe('backoffMs', () => {
  it('stays within 25 % of a doubled and limited delay', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (retry, random) => {
        const plainMs = Math.min(defaultRetry.maxDelayMs, defaultRetry.baseDelayMs * 2 ** retry);
        const delayMs = backoffMs(defaultRetry, retry, random);
        expect(delayMs).toBeGreaterThanOrEqual(plainMs * 0.75);
        expect(delayMs).toBeLessThanOrEqual(plainMs * 1.25);
      }),
    );
  });
});

describe('isRetryableStatus', () => {
  it('is true for what may pass, and false for what is the caller’s fault', () => {
    expect([408, 409, 429, 500, 502, 503, 504].every(isRetryableStatus)).toBe(true);
    expect([200, 301, 400, 401, 403, 404, 413, 422].some(isRetryableStatus)).toBe(false);
  });
});
