import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AgentLightningError, type Clock, ValidationError } from '@agentlightning/core';
import { errorMessage, systemClock } from '@agentlightning/core/internal';
import type { RetentionPolicy } from '@agentlightning/core/store';
import { type AttemptQuotas, resolveQuotas } from './attempt-quotas.ts';
import { SqliteDriver } from './drivers/sqlite.ts';
import { createPrivateFile } from './maintenance/store-file.ts';
import { migrate } from './migrations/migrate.ts';
import { assertRetentionPolicy } from './operations/apply-retention.ts';
import type { SqlDriver } from './sql/sql-driver.ts';
import { SqlStore } from './sql-store.ts';
import { badLocation, isPostgres, sqlitePath } from './store-location.ts';

/** Options of `openStore`. */
export interface OpenStoreOptions {
  /** Clock. @default the system clock, on PostgreSQL adjusted to the clock of the database */
  readonly clock?: Clock;
  /**
   * Lease of a claimed attempt in milliseconds. Without a heartbeat of the attempt or its worker or a span until then,
   * its rollout returns to the queue. @default 60000
   */
  readonly claimLeaseMs?: number;
  /** Interval of the check for expired attempts in milliseconds: the maximum delay of a timeout. @default 1000 */
  readonly watchdogIntervalMs?: number;
  /**
   * Number of expired claims after which a rollout fails. Limits the cost of a task that crashes every runner.
   * @default 10
   */
  readonly maxLostClaims?: number;
  /** Automatic deletion, applied about once a minute. @default null no automatic deletion */
  readonly retention?: RetentionPolicy | null;
  /**
   * What acknowledged writes survive: a crash of the process (`kill -9`), or also a power failure, at the cost of a
   * disk sync per commit. @default 'process'
   */
  readonly durability?: 'process' | 'power';
  /** Timeout for the file's write lock in milliseconds. @default 10000 */
  readonly busyTimeoutMs?: number;
  /** Polling interval of pending waits for changes by other processes in milliseconds. @default 200 */
  readonly outsidePollMs?: number;
  /**
   * Maximum size in bytes of the store's file, or of its tables in PostgreSQL; new records beyond it fail with STORE_FULL.
   * @default null limited by the disk only
   */
  readonly maxSizeBytes?: number | null;
  /** Limits of an attempt. @default the defaults of {@link AttemptQuotas} */
  readonly quotas?: Partial<AttemptQuotas>;
  /** PostgreSQL: maximum number of connections, besides the one that listens for changes. @default 10 */
  readonly poolSize?: number;
  /**
   * PostgreSQL: how long an operation retries an unreachable database before it fails with UNREACHABLE, in
   * milliseconds. The store reconnects automatically. @default 10000
   */
  readonly unreachableAfterMs?: number;
}

/**
 * Opens a store and creates it if it does not exist. Its watchdog enforces timeouts until the store is closed.
 *
 * @param location - `sqlite:./run/agl.db`, a path, `:memory:` for a store that is lost on close, or
 * `postgres://user:password@host:5432/database` for a store shared by several machines
 * @throws AgentLightningError STORE_SCHEMA when a newer version wrote the file or it is not a store, CONFIG when it
 * cannot be opened, UNREACHABLE when the database cannot be reached, VALIDATION for an unknown kind of store
 * @example
 * ```ts
 * const store = await openStore('sqlite:./run/agl.db');
 * await store.enqueueRollouts([{ input: { question: 'What is 6 times 7?' } }]);
 * const [claimed] = await store.claimRollouts({ workerId: 'worker-1' });
 * await store.close();
 * ```
 */
export async function openStore(location: string, options: OpenStoreOptions = {}): Promise<SqlStore> {
  assertOptions(options);
  const quotas = resolveQuotas(options.quotas ?? {});
  const driver = await openDriver(location, options);
  const { clock = new SharedClock(driver) } = options;
  const adjustClock = async (): Promise<void> => {
    if (clock instanceof SharedClock) await clock.adjust();
  };
  try {
    await adjustClock();
    await migrate(driver, { nowMs: clock.now() });
  } catch (error) {
    await driver.close();
    throw error;
  }
  return new SqlStore(driver, {
    clock,
    adjustClock,
    claimLeaseMs: options.claimLeaseMs ?? 60_000,
    watchdogIntervalMs: options.watchdogIntervalMs ?? 1000,
    maxLostClaims: options.maxLostClaims ?? 10,
    retention: options.retention ?? null,
    quotas,
  });
}

/**
 * The system clock, moved to the time of a database that several machines share: their clocks may differ by more than a
 * lease.
 */
class SharedClock implements Clock {
  readonly sleep: Clock['sleep'] = systemClock.sleep;
  readonly #driver: SqlDriver;
  #aheadMs = 0;

  constructor(driver: SqlDriver) {
    this.#driver = driver;
  }

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  /** Moves the clock by what it certainly differs: the database read its own between the request and the response. */
  async adjust(): Promise<void> {
    if (this.#driver.timeMs === undefined) return;
    const sentMs = systemClock.now();
    const timeMs = await this.#driver.timeMs();
    const receivedMs = systemClock.now();
    this.#aheadMs = Math.min(Math.max(this.#aheadMs, timeMs - receivedMs), timeMs - sentMs);
  }
}

function assertOptions({ maxLostClaims = 10, retention = null }: OpenStoreOptions): void {
  if (retention !== null) assertRetentionPolicy(retention);
  if (Number.isSafeInteger(maxLostClaims) && maxLostClaims >= 1) return;
  const message = `must be an integer of at least 1, got ${maxLostClaims}`;
  throw new ValidationError('Store options', [{ path: 'maxLostClaims', message }]);
}

/** Opens the database of a store and creates it if it does not exist. The caller migrates the schema. */
export async function openDriver(location: string, options: OpenStoreOptions): Promise<SqlDriver> {
  if (isPostgres(location)) return openPostgres(location, options);
  const path = sqlitePath(location);
  if (path !== ':memory:') {
    await makeFolder(dirname(path));
    // It has prompts, outputs and digests of keys. SQLite gives its other files the same mode.
    await createPrivateFile(path);
  }
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
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `The store's folder ${folder} cannot be created: ${errorMessage(cause)}`,
      remedy: 'Check that its parent is a folder with write permission.',
      cause,
    });
  }
}

/** Loads the PostgreSQL driver on demand. */
async function openPostgres(location: string, options: OpenStoreOptions): Promise<SqlDriver> {
  if (!/^\w+:\/\//.test(location) || !URL.canParse(location)) throw badLocation(location);
  const { PostgresDriver } = await import('./drivers/postgres.ts');
  return PostgresDriver.open({
    url: location,
    poolSize: options.poolSize ?? 10,
    unreachableAfterMs: options.unreachableAfterMs ?? 10_000,
    maxSizeBytes: options.maxSizeBytes ?? null,
  });
}
