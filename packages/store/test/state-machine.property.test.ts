import { ManualClock } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { test } from 'vitest';
import { SqliteDriver } from '../src/drivers/sqlite.ts';
import { migrate } from '../src/migrate.ts';
import { TransactionRunner } from '../src/operation-runner.ts';
import { SqlStore } from '../src/sql-store.ts';
import { ChangeFeed } from '../src/store-change.ts';
import { type RealStore, storeCommands } from './model/store-commands.ts';
import { modelLeaseMs, modelMaxLostClaims, StoreModel } from './model/store-model.ts';

test('whatever happens to rollouts, the store does what the model of the contract does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands([...storeCommands], { maxCommands: 40, size: '+1' }), async (commands) => {
      const real = await openReal();
      try {
        await fc.asyncModelRun(() => ({ model: new StoreModel(), real }), commands);
      } finally {
        await real.store.close();
      }
    }),
    { numRuns: 300 },
  );
}, 120_000);

/** A store whose watchdog looks only when a command tells it to. */
async function openReal(): Promise<RealStore> {
  const clock = new ManualClock();
  const driver = await SqliteDriver.open({
    path: ':memory:',
    durability: 'process',
    busyTimeoutMs: 0,
    outsidePollMs: 1000,
    maxSizeBytes: null,
  });
  await migrate(driver, { nowMs: clock.now() });
  const store = new SqlStore(driver, {
    clock,
    claimLeaseMs: modelLeaseMs,
    watchdogIntervalMs: 1_000_000,
    maxLostClaims: modelMaxLostClaims,
    retention: null,
  });
  return { store, clock, rolloutIds: [], runner: new TransactionRunner(driver, clock, new ChangeFeed()) };
}
