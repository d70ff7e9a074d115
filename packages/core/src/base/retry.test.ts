import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.ts';
import { backoffMs, isRetryableStatus, parseRetryAfterMs, withRetry } from './retry.ts';

describe('withRetry', () => {
  const recordingClock = (): { readonly clock: Clock; readonly delays: number[] } => {
    const delays: number[] = [];
    const sleep: Clock['sleep'] = async (ms, signal) => {
      delays.push(ms);
      signal?.throwIfAborted();
    };
    return { delays, clock: { now: () => 0, sleep } };
  };
  const failing = (failures: number) => {
    let attempts = 0;
    return async (): Promise<number> => {
      attempts += 1;
      if (attempts <= failures) throw new Error(`failure ${attempts}`);
      return attempts;
    };
  };

  it('returns the first result, after the delays of the policy', async () => {
    const { clock, delays } = recordingClock();
    expect(await withRetry(failing(2), { clock, delayMs: (_, failures) => failures * 10 })).toBe(3);
    expect(delays).toEqual([10, 20]);
  });

  it('throws the last error when the policy returns null', async () => {
    const policy = {
      clock: recordingClock().clock,
      delayMs: (_: unknown, failures: number) => (failures < 3 ? 1 : null),
    };
    await expect(withRetry(failing(9), policy)).rejects.toThrow('failure 3');
  });

  it('throws the reason of a signal that aborts a delay', async () => {
    const signal = (): AbortSignal => AbortSignal.abort(new Error('stopped'));
    const retried = withRetry(failing(9), { clock: recordingClock().clock, signal, delayMs: () => 1 });
    await expect(retried).rejects.toThrow('stopped');
  });
});

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
  ])('parses %j as %j ms', (header, expected) => {
    expect(parseRetryAfterMs(header, nowMs)).toBe(expected);
  });
});

describe('backoffMs', () => {
  const limits = { baseDelayMs: 250, maxDelayMs: 8000 };

  it('doubles from the base delay up to the maximum', () => {
    expect([1, 2, 3, 6, 7, 50].map((failures) => backoffMs(limits, failures))).toEqual([
      250, 500, 1000, 8000, 8000, 8000,
    ]);
  });

  it('stays within 25 % of the delay without jitter', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failures, random) => {
          const plainMs = backoffMs(limits, failures);
          const delayMs = backoffMs(limits, failures, random);
          expect(delayMs).toBeGreaterThanOrEqual(plainMs * 0.75);
          expect(delayMs).toBeLessThanOrEqual(plainMs * 1.25);
        },
      ),
    );
  });
});

describe('isRetryableStatus', () => {
  it('is true for transient statuses, and false for client errors', () => {
    expect([408, 409, 429, 500, 502, 503, 504].every(isRetryableStatus)).toBe(true);
    expect([200, 301, 400, 401, 403, 404, 413, 422, 501].some(isRetryableStatus)).toBe(false);
  });
});
