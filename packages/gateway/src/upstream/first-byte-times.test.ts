import { expect, test } from 'vitest';
import { FirstByteTimes, firstByteTimeoutMs } from './first-byte-times.ts';

const longestMs = 600_000;

test('the limit for the first byte follows the responses of all upstreams of a call, and doubles with every try', () => {
  const hung = { firstByteTimes: new FirstByteTimes() };
  const other = { firstByteTimes: new FirstByteTimes() };
  const limit = (isStreamed: boolean, tries = 0): number =>
    firstByteTimeoutMs({ upstreams: [hung, other], isStreamed, tries, longestMs });
  expect(limit(false)).toBe(60_000);
  other.firstByteTimes.add(false, 200);
  expect(limit(false)).toBe(15_000);
  expect([1, 2, 9].map((tries) => limit(false, tries))).toEqual([30_000, 60_000, longestMs]);
  other.firstByteTimes.add(false, 50_000);
  expect(limit(false)).toBe(200_000);
  expect(limit(true)).toBe(60_000);
  for (let call = 0; call < 256; call += 1) other.firstByteTimes.add(false, 10_000);
  expect(limit(false)).toBe(40_000);
});
