/**
 * Says when calls are due, from a thread that sleeps in between. Timers of an event loop are good to a millisecond, and
 * to wait for the rest in turns of the loop would take one of two cores from what is measured.
 *
 * @module
 */
import { parentPort, workerData } from 'node:worker_threads';
import { sharedNowMs } from './raw-client.ts';

/** What it ticks. */
export interface Ticking {
  readonly perSecond: number;
  readonly count: number;
  /** By the clock that all threads share, in milliseconds. */
  readonly beginsMs: number;
}

const { perSecond, count, beginsMs } = workerData as Ticking;
const neverChanged = new Int32Array(new SharedArrayBuffer(4));
for (let index = 0; index < count; index += 1) {
  const dueMs = beginsMs + (index * 1000) / perSecond;
  const waitMs = dueMs - sharedNowMs();
  if (waitMs > 0) Atomics.wait(neverChanged, 0, 0, waitMs);
  parentPort?.postMessage(dueMs);
}
