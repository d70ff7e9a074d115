import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { type OpenStoreOptions, openStore } from '../src/index.ts';
import { StoreHost } from '../src/thread/store-host.ts';
import type { ThreadStoreOptions } from '../src/thread/thread-store.ts';

/**
 * Both ends of the line to a store's thread in one thread, so that they can share a clock: what crosses is copied all
 * the same, and the other end takes it as soon as it can.
 */
export async function lineInOneThread(
  location: string,
  options: OpenStoreOptions = {},
): Promise<Omit<ThreadStoreOptions, 'reader' | 'loneSpans'>> {
  const { port1: port, port2 } = new MessageChannel();
  new StoreHost(await openStore(location, options), port2);
  const ended = once(port, 'close').then(() => null);
  return { port, location, ended, holdUntilEnded: () => port.ref() };
}
