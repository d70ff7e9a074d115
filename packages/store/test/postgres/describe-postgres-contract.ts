import type { Clock } from '@agentlightning/core';
import { describeStoreContract, type StoreUnderTest } from '@agentlightning/core/contracts';
import { afterAll, beforeAll } from 'vitest';
import { openStore, type SqlStore } from '../../src/index.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { describePostgres } from './describe-postgres.ts';

/**
 * Declares the contract of stores for one over PostgreSQL; all tests have one database, which each finds empty.
 *
 * @param through - what stands between the test and the store
 */
export function describePostgresContract(
  name: string,
  through: (store: SqlStore, clock: Clock) => Promise<StoreUnderTest>,
): void {
  describePostgres('PostgreSQL', () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase();
    });
    afterAll(() => database[Symbol.asyncDispose]());

    describeStoreContract({
      name,
      open: async ({ clock }) => {
        await database.empty();
        return await through(await openStore(database.url, { clock, watchdogIntervalMs: 5 }), clock);
      },
    });
  });
}
