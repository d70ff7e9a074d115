import type { TrainingEvent } from '@agentlightning/core/protocol';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SearchProgress } from './search-progress.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('reports every ten seconds that no request has a reply, from the last reply on', async () => {
  const seconds: unknown[] = [];
  const emit = (event: TrainingEvent): void => {
    if (event.type === 'search-progress') seconds.push(event.waitingSeconds);
  };
  const limits = { maxRollouts: null, maxOptimizerCalls: null };
  const progress = new SearchProgress(emit, limits, { rollouts: 0, optimizerCalls: 0 });
  const [one, other] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const replies = [one, other].map(({ promise }) => progress.waitForOptimizer(() => promise));
  await vi.advanceTimersByTimeAsync(25_000);
  expect(seconds).toEqual([10, 20]);
  one.resolve('a reply');
  await vi.advanceTimersByTimeAsync(9000);
  expect(seconds).toEqual([10, 20]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(seconds).toEqual([10, 20, 10]);
  other.resolve('another');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(seconds).toHaveLength(3);
  expect(await Promise.all(replies)).toEqual(['a reply', 'another']);
});
