import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Clock, systemClock, ValidationError } from '@agentlightning/core';
import { SqliteDriver } from './drivers/sqlite.ts';
import { migrate } from './migrate.ts';
import type { SqlDriver } from './sql-driver.ts';
import { SqlStore } from './sql-store.ts';

/** How to open a store. */
export interface OpenStoreOptions {
  /** Where time comes from. @default the clock on the wall */
  readonly clock?: Clock;
  /**
   * How long a claimed attempt may stay unheard of before its rollout returns to the queue, in
   * milliseconds. A heartbeat of the attempt, of its worker, or a span ends or renews it. @default 60000
   */
  readonly claimLeaseMs?: number;
  /** How often to look for attempts whose time is up, in milliseconds: how late a timeout may come. @default 1000 */
  readonly watchdogIntervalMs?: number;
  /**
   * What acknowledged writes survive: the death of the process (`kill -9`), or a power failure too, at a
   * disk sync for every write. @default 'process'
   */
  readonly durability?: 'process' | 'power';
  /** How long to wait while another process writes to the file, in milliseconds. @default 10000 */
  readonly busyTimeoutMs?: number;
  /** How often those who wait look for changes by other processes, in milliseconds. @default 200 */
  readonly outsidePollMs?: number;
  /** The most the store's file may hold, in bytes; writes beyond it fail with STORE_FULL. @default null no limit but the disk's */
  readonly maxSizeBytes?: number | null;
}

/**
 * Opens a store, and makes it when there is none. The watchdog that enforces timeouts runs until it is closed.
 *
 * @param location - `sqlite:./run/agl.db`, a path, or `:memory:` for a store that is gone when it is closed
 * @throws AgentLightningError STORE_SCHEMA when a newer version wrote the file or it is no store,
 * CONFIG when it cannot be opened, VALIDATION for a kind of store there is not
 * @example
 * ```ts
 * const store = await openStore('sqlite:./run/agl.db');
 * await store.enqueueRollouts([{ input: { question: 'What is 6 times 7?' } }]);
 * const [claimed] = await store.claimRollouts({ workerId: 'worker-1' });
 * await store.close();
 * ```
 */
export async function openStore(location: string, options: OpenStoreOptions = {}): Promise<SqlStore> {
  const clock = options.clock ?? systemClock;
  const driver = await openDriver(location, options);
  try {
    await migrate(driver, { nowMs: clock.now() });
  } catch (error) {
    await driver.close();
    throw error;
  }
  return new SqlStore(driver, {
    clock,
    claimLeaseMs: options.claimLeaseMs ?? 60_000,
    watchdogIntervalMs: options.watchdogIntervalMs ?? 1000,
  });
}

async function openDriver(location: string, options: OpenStoreOptions): Promise<SqlDriver> {
  const path = sqlitePath(location);
  if (path !== ':memory:') await mkdir(dirname(path), { recursive: true });
  return SqliteDriver.open({
    path,
    durability: options.durability ?? 'process',
    busyTimeoutMs: options.busyTimeoutMs ?? 10_000,
    outsidePollMs: options.outsidePollMs ?? 200,
    maxSizeBytes: options.maxSizeBytes ?? null,
  });
}

/** The file that a location names. */
function sqlitePath(location: string): string {
  const [, scheme, rest] = /^([a-z][a-z0-9+]+):(.*)$/.exec(location) ?? [undefined, 'sqlite', location];
  if (scheme !== 'sqlite' || rest === '' || rest === undefined) {
    throw new ValidationError(`Store location ${location}`, [
      { path: '', message: 'must be sqlite:<path>, a path, or :memory:' },
    ]);
  }
  return rest === ':memory:' ? rest : resolve(rest);
}
