import { hostname } from 'node:os';
import type { Clock, Store } from '@agentlightning/core';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acquireRunLease, requestStop } from './run-lease.ts';

let store: Store;
beforeEach(async () => {
  store = await openStore(':memory:');
});
afterEach(() => store.close());

/** A clock whose sleeps end once the callback has run. */
const skippingClock = (meanwhile: () => Promise<unknown> = async () => undefined): Clock => ({
  now: () => 0,
  sleep: async () => void (await meanwhile()),
});

const holder = { lease: 'other', host: 'elsewhere', pid: 1, is_released: false };

test('rejects a run whose lease another trainer renews', async () => {
  const first = await acquireRunLease(store, 'run-1', { clock: skippingClock() });
  // The heartbeat time must differ, in milliseconds.
  const renewed = skippingClock(() => new Promise((resolve) => setTimeout(resolve, 5)).then(() => first.renew()));
  await expect(acquireRunLease(store, 'run-1', { clock: renewed })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining(`process ${process.pid} on ${hostname()}`),
  });
  await first.renew();
});

test('acquires a lease that is not renewed; renewal by its former holder fails', async () => {
  const first = await acquireRunLease(store, 'run-1', { clock: skippingClock() });
  const second = await acquireRunLease(store, 'run-1', { clock: skippingClock() });
  await expect(first.renew()).rejects.toMatchObject({ code: 'CONFLICT' });
  await first.release();
  await second.renew();
});

const never = skippingClock(() => Promise.reject(new Error('unexpected sleep')));

test('acquires the lease of a dead process of this machine immediately', async () => {
  // Above the largest process id of Linux.
  await store.updateWorker('trainer-run-1', { ...holder, host: hostname(), pid: 2 ** 30 });
  await (await acquireRunLease(store, 'run-1', { clock: never })).renew();
});

test('acquires a released lease immediately', async () => {
  const first = await acquireRunLease(store, 'run-1', { clock: never });
  await first.release();
  await (await acquireRunLease(store, 'run-1', { clock: never })).renew();
});

test('stays released when a renewal was in progress', async () => {
  const first = await acquireRunLease(store, 'run-1', { clock: never });
  const renewal = first.renew();
  await first.release();
  await renewal;
  await first.renew();
  await (await acquireRunLease(store, 'run-1', { clock: never })).renew();
});

test('watches the lease of another machine before acquiring it', async () => {
  await store.updateWorker('trainer-run-1', holder);
  let isWatched = false;
  const clock = skippingClock(async () => {
    isWatched = true;
  });
  await acquireRunLease(store, 'run-1', { clock });
  expect(isWatched).toBe(true);
});

test('a requested stop is reported by the next renewal, and is over with the lease', async () => {
  let requests = 0;
  const onStopRequest = (): void => {
    requests += 1;
  };
  expect(await requestStop(store, 'run-1')).toBe(false);
  const lease = await acquireRunLease(store, 'run-1', { onStopRequest });
  await lease.renew();
  expect(requests).toBe(0);
  expect(await requestStop(store, 'run-1')).toBe(true);
  await lease.renew();
  expect(requests).toBe(1);
  await lease.release();
  expect(await requestStop(store, 'run-1')).toBe(false);
  const next = await acquireRunLease(store, 'run-1', { onStopRequest });
  await next.renew();
  expect(requests).toBe(1);
});
