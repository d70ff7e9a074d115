import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AgentLightningError, type Clock, ValidationError } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import type { RetentionPolicy } from '@agentlightning/core/store';
import { type AttemptQuotas, resolveQuotas } from './attempt-quotas.ts';
import { SqliteDriver } from './drivers/sqlite.ts';
import { migrate } from './migrate.ts';
import { assertRetentionPolicy } from './operations/apply-retention.ts';
import type { SqlDriver } from './sql-driver.ts';
import { SqlStore } from './sql-store.ts';
import { badLocation, isPostgres, sqlitePath } from './store-location.ts';

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
   * How many claims of a rollout may be lost, because their runners are never heard of again, before the
   * rollout fails. It bounds what a task that kills every runner can cost. @default 10
   */
  readonly maxLostClaims?: number;
  /** What the store deletes by itself, about once a minute. @default null nothing */
  readonly retention?: RetentionPolicy | null;
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
  /** How much an attempt may record. @default the defaults of {@link AttemptQuotas} */
  readonly quotas?: Partial<AttemptQuotas>;
  /** PostgreSQL: how many connections at most, besides the one that listens for changes. @default 10 */
  readonly poolSize?: number;
  /**
   * PostgreSQL: how long to look for a database that is away before giving up with UNREACHABLE, in
   * milliseconds. The store goes on by itself when it is back. @default 10000
   */
  readonly unreachableAfterMs?: number;
}

/**
 * Opens a store, and makes it when there is none. The watchdog that enforces timeouts runs until it is closed.
 *
 * @param location - `sqlite:./run/agl.db`, a path, `:memory:` for a store that is gone when it is closed, or
 * `postgres://user:password@host:5432/database` for a store of many machines
 * @throws AgentLightningError STORE_SCHEMA when a newer version wrote the file or it is no store,
 * CONFIG when it cannot be opened, UNREACHABLE when the database stays away, VALIDATION for a kind of store there is not
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
  assertOptions(options);
  const quotas = resolveQuotas(options.quotas ?? {});
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
    maxLostClaims: options.maxLostClaims ?? 10,
    retention: options.retention ?? null,
    quotas,
  });
}

function assertOptions({ maxLostClaims = 10, retention = null }: OpenStoreOptions): void {
  if (retention !== null) assertRetentionPolicy(retention);
  if (Number.isSafeInteger(maxLostClaims) && maxLostClaims >= 1) return;
  const message = `must be a whole number of at least 1, got ${maxLostClaims}`;
  throw new ValidationError('Store options', [{ path: 'maxLostClaims', message }]);
}

/** Opens the database of a store, and makes it when there is none; its schema is the caller's business. */
export async function openDriver(location: string, options: OpenStoreOptions): Promise<SqlDriver> {
  if (isPostgres(location)) return openPostgres(location, options);
  const path = sqlitePath(location);
  if (path !== ':memory:') await makeFolder(dirname(path));
  return SqliteDriver.open({
    path,
    durability: options.durability ?? 'process',
    busyTimeoutMs: options.busyTimeoutMs ?? 10_000,
    outsidePollMs: options.outsidePollMs ?? 200,
    maxSizeBytes: options.maxSizeBytes ?? null,
  });
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `The store's folder ${folder} cannot be made: ${cause instanceof Error ? cause.message : String(cause)}`,
      remedy: 'Check that the path is one of folders, and that you may write there.',
      cause,
    });
  }
}

/** Loads what PostgreSQL needs only where it is used. */
async function openPostgres(location: string, options: OpenStoreOptions): Promise<SqlDriver> {
  if (!/^\w+:\/\//.test(location) || !URL.canParse(location)) throw badLocation(location);
  const { PostgresDriver } = await import('./drivers/postgres.ts');
  return PostgresDriver.open({
    url: location,
    poolSize: options.poolSize ?? 10,
    unreachableAfterMs: options.unreachableAfterMs ?? 10_000,
  });
}
