import { expect, test } from 'vitest';
import { openStore } from '../src/index.ts';

test('timers of the process have their turn while somebody keeps the store busy', async () => {
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
