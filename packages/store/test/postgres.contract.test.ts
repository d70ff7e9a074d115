import { describeStoreContract } from '@agentlightning/core/contracts';
import { afterAll, beforeAll } from 'vitest';
import { openStore } from '../src/index.ts';
import { createTestDatabase, type TestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

describePostgres('PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database[Symbol.asyncDispose]());

  describeStoreContract({
    name: 'PostgreSQL in process',
    open: async ({ clock }) => {
      await database.empty();
      const store = await openStore(database.url, { clock, watchdogIntervalMs: 5 });
      return { store, close: () => store.close() };
    },
  });
});
