import { createStoreServer } from '@agentlightning/store';
import { openLocalStore } from '../runtime/open-any-store.ts';
import { serverLog } from './server-log.ts';
import { untilStopped } from './until-stopped.ts';

/** The flags of `agl store`. */
export interface StoreFlags {
  readonly db: string;
  readonly host: string;
  readonly port: number;
}

/** Serves a store until the process is stopped. */
export async function serveStore({ db, host, port }: StoreFlags): Promise<void> {
  const log = serverLog('agl-store');
  const store = await openLocalStore(db);
  const apiKey = process.env['AGL_STORE_KEY'];
  try {
    const server = await createStoreServer({ store, host, port, ...(apiKey === undefined ? {} : { apiKey }) });
    log.info({ url: server.url, db, key: apiKey !== undefined }, 'store is up');
    process.stdout.write(`${JSON.stringify({ event: 'ready', url: server.url })}\n`);
    await untilStopped(() => server.close());
  } finally {
    await store.close();
  }
  log.info('store has stopped');
}
