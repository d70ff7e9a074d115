import { test } from 'vitest';
import { SqliteDriver } from '../src/drivers/sqlite.ts';
import { assertKeepsToModel } from './model/assert-model.ts';

test('any sequence of commands has the same results as the model of the contract', async () => {
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
