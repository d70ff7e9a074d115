/**
 * Reports when calls are due, from a sleeping thread. Timers of an event loop have a resolution of a millisecond, and busy
 * waiting would take one of two cores from the measurement.
 *
 * @module
 */
import { parentPort, workerData } from 'node:worker_threads';
import { sharedNowMs } from './raw-client.ts';

/** Schedule of the ticks. */
export interface Ticking {
  readonly perSecond: number;
  readonly count: number;
  /** By the clock of the machine, in milliseconds. */
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
