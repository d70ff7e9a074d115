import { once } from 'node:events';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import type { Clock } from '@agentlightning/core';
import { describeStoreContract } from '@agentlightning/core/contracts';
import { type OpenStoreOptions, openStore } from '../src/index.ts';
import { AttemptReader } from '../src/thread/attempt-reader.ts';
import { LoneSpanWriter } from '../src/thread/lone-span-writer.ts';
import { StoreHost } from '../src/thread/store-host.ts';
import { ThreadStore, type ThreadStoreOptions } from '../src/thread/thread-store.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Both ends of the line in one thread, so that they can share a clock: what crosses is copied all the same. */
async function openLine(
  location: string,
  options: OpenStoreOptions,
): Promise<Omit<ThreadStoreOptions, 'reader' | 'loneSpans'>> {
  const { port1, port2 } = new MessageChannel();
  new StoreHost(await openStore(location, { ...options, watchdogIntervalMs: 5 }), port2);
  const ended = once(port1, 'close').then(() => null);
  return { port: port1, location, ended, holdUntilEnded: () => port1.ref() };
}

describeStoreContract({
  name: 'SQLite in a thread of its own',
  open: async ({ clock }) => {
    const store = new ThreadStore({ ...(await openLine(':memory:', { clock })), reader: null, loneSpans: null });
    return { store, close: () => store.close() };
  },
});

describeStoreContract({
  name: 'SQLite in a thread of its own, with every span written in this one',
  open: async ({ clock }) => {
    const folder = await temporaryFolder();
    const path = join(folder.path, 'agl.db');
    // Whoever watches would be told that another connection has written.
    const line = await openLine(path, { clock, outsidePollMs: 600_000 });
    const store = new ThreadStore({ ...line, reader: AttemptReader.open(path), loneSpans: loneSpansOf(path, clock) });
    return {
      store,
      close: async () => {
        await store.close();
        await folder[Symbol.asyncDispose]();
      },
    };
  },
});

function loneSpansOf(path: string, clock: Clock): LoneSpanWriter | null {
  return LoneSpanWriter.open({ path, clock, durability: 'process', maxSizeBytes: null, minGapMs: 0 });
}
