import { workerData } from 'node:worker_threads';
import { openStore } from '../open-store.ts';
import { carryError } from './carried-error.ts';
import type { StoreOpening, StoreWorkerData } from './open-store-in-thread.ts';
import { StoreHost } from './store-host.ts';

/** A thread that has a store, for `openStoreInThread`. */
const { port, location, options } = workerData as StoreWorkerData;
try {
  new StoreHost(await openStore(location, options), port);
  port.postMessage({ failure: null } satisfies StoreOpening);
} catch (error) {
  port.postMessage({ failure: carryError(error) } satisfies StoreOpening);
  port.close();
}
