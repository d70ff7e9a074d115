import { describeStoreContract } from '@agentlightning/core/contracts';
import { StoreClient } from '@agentlightning/core/store-client';
import { createStoreServer, openStore } from '../src/index.ts';

describeStoreContract({
  name: 'the HTTP client, over a server over SQLite',
  open: async ({ clock }) => {
    const store = await openStore(':memory:', { clock, watchdogIntervalMs: 5 });
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
  },
});
