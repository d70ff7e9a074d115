import { describeStoreContract } from '@agentlightning/core/contracts';
import { StoreClient } from '@agentlightning/core/store-client';
import { afterAll, beforeAll } from 'vitest';
import { createStoreServer, openStore } from '../src/index.ts';
import { createTestDatabase, type TestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

describePostgres('PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database[Symbol.asyncDispose]());

  describeStoreContract({
    name: 'the HTTP client, over a server over PostgreSQL',
    open: async ({ clock }) => {
      await database.empty();
      const store = await openStore(database.url, { clock, watchdogIntervalMs: 5 });
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
});
