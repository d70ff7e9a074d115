import { describe, test as vitestTest } from 'vitest';
import type { Store } from '../../store/store.ts';
import { ManualClock } from '../manual-clock.ts';
import { describeArchives } from './archive-contract.ts';
import { describeConcurrency } from './concurrency-contract.ts';
import { describeContents } from './content-contract.ts';
import { describeDeletion } from './deletion-contract.ts';
import { describeIds } from './id-contract.ts';
import { describeProduction } from './production-contract.ts';
import { describeQueue } from './queue-contract.ts';
import { describeResources } from './resource-contract.ts';
import { describeRevocation } from './revocation-contract.ts';
import { describeRollouts } from './rollout-contract.ts';
import { describeRolloutSearch } from './rollout-search-contract.ts';
import { describeRuns } from './run-contract.ts';
import { describeSearch } from './search-contract.ts';
import { describeSpans } from './span-contract.ts';
import { describeStateMachine } from './state-machine-contract.ts';
import type { StoreTest } from './store-test.ts';
import { describeTraces } from './trace-contract.ts';
import { describeWaits } from './wait-contract.ts';
import { describeWatching } from './watch-contract.ts';
import { describeWatchdog } from './watchdog-contract.ts';
import { describeWorkers } from './worker-contract.ts';

/** Options of the store contract. */
export interface StoreContractOptions {
  /** Name of the backend in the test report. */
  readonly name: string;
  /**
   * Opens an empty store that uses the clock for everything, including waits, with a claim lease of 60 seconds and a
   * watchdog interval of a few milliseconds of real time.
   */
  readonly open: (options: { readonly clock: ManualClock }) => Promise<StoreUnderTest>;
  /** Tests that do not apply to the backend, each with the reason. @default none */
  readonly skip?: readonly { readonly test: string; readonly reason: string }[];
}

/** A store under test. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Closes the store and its dependencies. */
  readonly close: () => Promise<void>;
}

/**
 * Contract tests for every {@link Store}, with vitest. A backend is accepted when it passes.
 *
 * @example
 * ```ts
 * describeStoreContract({
 *   name: 'SQLite in memory',
 *   open: async ({ clock }) => {
 *     const store = await openStore(':memory:', { clock, watchdogIntervalMs: 5 });
 *     return { store, close: () => store.close() };
 *   },
 * });
 * ```
 */
export function describeStoreContract(options: StoreContractOptions): void {
  const reasons = new Map((options.skip ?? []).map(({ test, reason }) => [test, reason]));
  const test: StoreTest = (name, body) => {
    const reason = reasons.get(name);
    if (reason !== undefined) {
      vitestTest.skip(`${name} (${reason})`);
      return;
    }
    vitestTest(name, async () => {
      const clock = new ManualClock();
      const { store, close } = await options.open({ clock });
      try {
        await body({ store, clock });
      } finally {
        await close();
      }
    });
  };
  describe(`store contract: ${options.name}`, () => {
    for (const part of parts) part(test);
  });
}

const parts: readonly ((test: StoreTest) => void)[] = [
  describeQueue,
  describeWaits,
  describeWatching,
  describeRollouts,
  describeStateMachine,
  describeWatchdog,
  describeSpans,
  describeTraces,
  describeContents,
  describeProduction,
  describeSearch,
  describeRolloutSearch,
  describeResources,
  describeWorkers,
  describeRuns,
  describeIds,
  describeRevocation,
  describeDeletion,
  describeArchives,
  describeConcurrency,
];
