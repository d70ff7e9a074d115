import { expect, test } from 'vitest';
import { maxBytesInFlight } from '../wire/request-body.ts';
import { type CallInFlight, CallsInFlight } from './calls-in-flight.ts';

const mib = 2 ** 20;

function begin(calls: CallsInFlight, rolloutId: string, bytes: number): CallInFlight {
  const attempt = { rolloutId, attemptId: 'at-1', mode: null };
  return calls.begin({ attempt, client: new AbortController().signal, startTimeMs: 0, bytes });
}

const rejected = expect.objectContaining({ httpStatus: 429, headers: { 'retry-after': '1' } });

test('the bytes in flight are limited in all, and those of one attempt to a quarter', () => {
  const calls = new CallsInFlight({ maxCalls: 100, maxBytes: 40 * mib });
  // A single call is always admitted; its size has another limit.
  const large = begin(calls, 'a', 31 * mib);
  expect(() => begin(calls, 'a', mib)).toThrow(rejected);
  begin(calls, 'b', 8 * mib);
  expect(() => begin(calls, 'c', 2 * mib)).toThrow(rejected);
  large[Symbol.dispose]();
  large[Symbol.dispose]();
  begin(calls, 'a', 9 * mib);
  begin(calls, 'a', mib);
  expect(() => begin(calls, 'a', mib)).toThrow(rejected);
});

test('a heap of 512 MiB has memory for bodies of 32 MiB in flight', () => {
  expect(maxBytesInFlight(512 * mib)).toBe(32 * mib);
});
