// @module-tag long
import { expect, test } from 'vitest';
import { PostgresDriver } from '../src/drivers/postgres.ts';
import { assertKeepsToModel } from './model/assert-model.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

describePostgres('PostgreSQL', () => {
  test('any sequence of commands has the same results as the model of the contract', async () => {
    await using database = await createTestDatabase();
    let opened = 0;
    await assertKeepsToModel({
      openDriver: async () => {
        opened += 1;
        await database.empty();
        return PostgresDriver.open({ url: database.url, poolSize: 2, unreachableAfterMs: 5000, maxSizeBytes: null });
      },
      numRuns: 50,
    });
    expect(opened).toBeGreaterThanOrEqual(50);
  }, 120_000);
});
