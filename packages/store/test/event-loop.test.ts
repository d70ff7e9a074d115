import { expect, test } from 'vitest';
import { openStore } from '../src/index.ts';

test('timers run while the store is busy', async () => {
  const store = await openStore(':memory:');
  let hasFired = false;
  setTimeout(() => {
    hasFired = true;
  }, 1);
  const deadline = performance.now() + 5000;
  while (!hasFired && performance.now() < deadline) await store.statistics();
  expect(hasFired).toBe(true);
  await store.close();
});
