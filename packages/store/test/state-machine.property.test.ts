import { test } from 'vitest';
import { SqliteDriver } from '../src/drivers/sqlite.ts';
import { assertKeepsToModel } from './model/assert-model.ts';

test('whatever happens to rollouts, the store does what the model of the contract does', async () => {
  await assertKeepsToModel({
    openDriver: () =>
      SqliteDriver.open({
        path: ':memory:',
        durability: 'process',
        busyTimeoutMs: 0,
        outsidePollMs: 1000,
        maxSizeBytes: null,
      }),
    numRuns: 300,
  });
}, 120_000);
