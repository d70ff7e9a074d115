import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { describeStoreContract } from '@agentlightning/core/contracts';
import { openStore } from '../src/index.ts';
import { StoreHost } from '../src/thread/store-host.ts';
import { ThreadStore } from '../src/thread/thread-store.ts';

// Both ends of the line in one thread, so that they can share a clock: what crosses is copied all the same.
describeStoreContract({
  name: 'SQLite in a thread of its own',
  open: async ({ clock }) => {
    const { port1, port2 } = new MessageChannel();
    new StoreHost(await openStore(':memory:', { clock, watchdogIntervalMs: 5 }), port2);
    const ended = once(port1, 'close').then(() => null);
    const store = new ThreadStore({ port: port1, location: ':memory:', ended, holdUntilEnded: () => port1.ref() });
    return { store, close: () => store.close() };
  },
});
