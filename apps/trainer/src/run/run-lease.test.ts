import { hostname } from 'node:os';
import type { Clock, Store } from '@agentlightning/core';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeRunLease } from './run-lease.ts';

let store: Store;
beforeEach(async () => {
  store = await openStore(':memory:');
});
afterEach(() => store.close());

/** Time that passes at once; meanwhile something may happen. */
const passing = (meanwhile: () => Promise<unknown> = async () => undefined): Clock => ({
  now: () => 0,
  sleep: async () => void (await meanwhile()),
});

const holder = { lease: 'other', host: 'elsewhere', pid: 1, is_released: false };

test('a run that another trainer renews its lease of is refused', async () => {
  const first = await takeRunLease(store, 'run-1', passing());
  // Two renewals within one tick of the store's clock would look like none.
  const renewed = passing(() => new Promise((resolve) => setTimeout(resolve, 5)).then(() => first.renew()));
  await expect(takeRunLease(store, 'run-1', renewed)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining(`process ${process.pid} on ${hostname()}`),
  });
  await first.renew();
});

test('a lease that nobody renews any more is taken, and its former holder is told', async () => {
  const first = await takeRunLease(store, 'run-1', passing());
  const second = await takeRunLease(store, 'run-1', passing());
  await expect(first.renew()).rejects.toMatchObject({ code: 'CONFLICT' });
  await first.release();
  await second.renew();
});

const never = passing(() => Promise.reject(new Error('there is nothing to wait for')));

test('a lease of a dead process of this machine is taken at once', async () => {
  // Larger than any process id that Linux gives out.
  await store.updateWorker('trainer-run-1', { ...holder, host: hostname(), pid: 2 ** 30 });
  await (await takeRunLease(store, 'run-1', never)).renew();
});

test('a released lease is taken at once', async () => {
  const first = await takeRunLease(store, 'run-1', never);
  await first.release();
  await (await takeRunLease(store, 'run-1', never)).renew();
});

test('a lease of another machine is watched before it is taken', async () => {
  await store.updateWorker('trainer-run-1', holder);
  let isWatched = false;
  await takeRunLease(
    store,
    'run-1',
    passing(async () => {
      isWatched = true;
    }),
  );
  expect(isWatched).toBe(true);
});
