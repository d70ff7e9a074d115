import type { RetentionPolicy } from '@agentlightning/core';
import { createStoreServer } from '@agentlightning/store';
import { openLocalStore } from '../runtime/open-any-store.ts';
import { serverLog } from './server-log.ts';
import { untilStopped } from './until-stopped.ts';

/** The flags of `agl store`. */
export interface StoreFlags {
  readonly db: string;
  readonly host: string;
  readonly port: number;
  readonly pruneOlderThan?: number;
  readonly pruneKeepRuns?: number;
}

/** Serves a store until the process is stopped. */
export async function serveStore(flags: StoreFlags): Promise<void> {
  const { db, host, port } = flags;
  const log = serverLog('agl-store');
  const store = await openLocalStore(db, { retention: retentionOf(flags) });
  const apiKey = process.env['AGL_STORE_KEY'];
  try {
    const server = await createStoreServer({ store, host, port, ...(apiKey === undefined ? {} : { apiKey }) });
    // Without the password of a database.
    const place = db.replace(/\/\/[^@/]*@/, '//');
    log.info({ url: server.url, db: place, key: apiKey !== undefined }, 'store is up');
    // Before anybody is told that it is up, and may stop it.
    const stopped = untilStopped(() => server.close());
    process.stdout.write(`${JSON.stringify({ event: 'ready', url: server.url })}\n`);
    await stopped;
  } finally {
    await store.close();
  }
  log.info('store has stopped');
}

function retentionOf({ pruneOlderThan, pruneKeepRuns }: StoreFlags): RetentionPolicy | null {
  if (pruneOlderThan === undefined && pruneKeepRuns === undefined) return null;
  return {
    ...(pruneOlderThan === undefined ? {} : { olderThanMs: pruneOlderThan }),
    ...(pruneKeepRuns === undefined ? {} : { keepRuns: pruneKeepRuns }),
  };
}
