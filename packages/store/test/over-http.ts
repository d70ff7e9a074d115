import type { Clock } from '@agentlightning/core';
import type { StoreUnderTest } from '@agentlightning/core/contracts';
import { StoreClient } from '@agentlightning/core/store-client';
import { createStoreServer, type SqlStore } from '../src/index.ts';

/** A store as a client of its server sees it; with the client, server and store are closed. */
export async function overHttp(store: SqlStore, clock: Clock): Promise<StoreUnderTest> {
  const server = await createStoreServer({ store, port: 0, apiKey: 'key of the test' });
  const client = new StoreClient({ baseUrl: server.url, apiKey: 'key of the test', clock });
  return {
    store: client,
    close: async () => {
      await client.close();
      await server.close();
      await store.close();
    },
  };
}
