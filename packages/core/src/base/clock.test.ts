import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const dayMs = 86_400_000;

test('a sleep longer than the maximum timer delay waits for its full duration', async () => {
  let isAwake = false;
  const slept = systemClock.sleep(60 * dayMs).then(() => {
    isAwake = true;
  });
  await vi.advanceTimersByTimeAsync(60 * dayMs - 1);
  expect(isAwake).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await slept;
});

test('an infinite sleep ends when its signal aborts, and clears its timer', async () => {
  const controller = new AbortController();
  const slept = expect(systemClock.sleep(Number.POSITIVE_INFINITY, controller.signal)).rejects.toThrow('enough');
  await vi.advanceTimersByTimeAsync(60 * dayMs);
  controller.abort(new TypeError('enough'));
  await slept;
  expect(vi.getTimerCount()).toBe(0);
});
