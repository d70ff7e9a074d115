import { join } from 'node:path';
import type { Clock } from '@agentlightning/core';
import { describeStoreContract } from '@agentlightning/core/contracts';
import { AttemptReader } from '../src/thread/attempt-reader.ts';
import { LoneSpanWriter } from '../src/thread/lone-span-writer.ts';
import { ThreadStore } from '../src/thread/thread-store.ts';
import { lineInOneThread } from './line-in-one-thread.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** How often overdue attempts are looked for. */
const watchdogIntervalMs = 5;

describeStoreContract({
  name: 'SQLite in a thread of its own',
  open: async ({ clock }) => {
    const line = await lineInOneThread(':memory:', { clock, watchdogIntervalMs });
    const store = new ThreadStore({ ...line, reader: null, loneSpans: null });
    return { store, close: () => store.close() };
  },
});

describeStoreContract({
  name: 'SQLite in a thread of its own, with every span written in this one',
  open: async ({ clock }) => {
    const folder = await temporaryFolder();
    const path = join(folder.path, 'agl.db');
    // Whoever watches would be told that another connection has written.
    const line = await lineInOneThread(path, { clock, watchdogIntervalMs, outsidePollMs: 600_000 });
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
