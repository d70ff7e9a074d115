import { ManualClock } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { resolveQuotas } from '../../src/attempt-quotas.ts';
import { ChangeFeed } from '../../src/changes/change-feed.ts';
import { migrate } from '../../src/migrations/migrate.ts';
import { TransactionRunner } from '../../src/sql/operation-runner.ts';
import type { SqlDriver } from '../../src/sql/sql-driver.ts';
import { SqlStore } from '../../src/sql-store.ts';
import { type RealStore, storeCommands } from './store-commands.ts';
import { modelLeaseMs, modelMaxLostClaims, StoreModel } from './store-model.ts';

/** Which database to hold against the model, and how often. */
export interface ModelCheck {
  /** Opens an empty database. */
  readonly openDriver: () => Promise<SqlDriver>;
  readonly numRuns: number;
}

/** Does whatever can be done to rollouts with a real store and with the model of the contract, and compares. */
export async function assertKeepsToModel({ openDriver, numRuns }: ModelCheck): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.commands([...storeCommands], { maxCommands: 40, size: '+1' }), async (commands) => {
      const real = await openReal(await openDriver());
      try {
        await fc.asyncModelRun(() => ({ model: new StoreModel(), real }), commands);
      } finally {
        await real.store.close();
      }
    }),
    { numRuns },
  );
}

/** A store whose watchdog runs only on command. */
async function openReal(driver: SqlDriver): Promise<RealStore> {
  const clock = new ManualClock();
  await migrate(driver, { nowMs: clock.now() });
  const quotas = resolveQuotas({});
  const store = new SqlStore(driver, {
    clock,
    claimLeaseMs: modelLeaseMs,
    watchdogIntervalMs: 1_000_000,
    maxLostClaims: modelMaxLostClaims,
    retention: null,
    quotas,
  });
  return {
    store,
    clock,
    rolloutIds: [],
    runner: new TransactionRunner({ driver, clock, feed: new ChangeFeed(), quotas }),
  };
}
