import { AgentLightningError } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { type StoreChangeListener, unknownChange } from '../changes/change-feed.ts';
import type { SqlConnection, SqlDriver } from '../sql/sql-driver.ts';
import { GroupCommit, type TransactionKind } from './group-commit.ts';
import { SqliteConnection, type SqliteConnectionOptions } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { isBusy, toStoreError } from './sqlite-error.ts';

/** Options of the SQLite driver. */
export interface SqliteDriverOptions extends SqliteConnectionOptions {
  /** Timeout for the write lock, in milliseconds. */
  readonly busyTimeoutMs: number;
  /** Polling interval for changes by other processes, in milliseconds. */
  readonly outsidePollMs: number;
}

const busyRetryMs = 2;
/** Size of SQLite's page cache, in KiB. */
const cacheKibibytes = 8192;
const beginStatements: Readonly<Record<TransactionKind, string>> = { read: 'BEGIN DEFERRED', write: 'BEGIN IMMEDIATE' };

/** The embedded database: one connection with sequential transactions and group commit. */
export class SqliteDriver implements SqlDriver {
  readonly name = 'sqlite';
  readonly dialect: SqlDriver['dialect'] = sqliteDialect;
  readonly #options: SqliteDriverOptions;
  readonly #connection: SqliteConnection;
  readonly #groups: GroupCommit<SqlConnection>;
  readonly #listeners = new Set<StoreChangeListener>();
  #poll: NodeJS.Timeout | null = null;
  #dataVersion: unknown = null;
  #isOpen = true;

  private constructor(options: SqliteDriverOptions) {
    this.#options = options;
    const connection = new SqliteConnection(options.path);
    this.#connection = connection;
    this.#groups = new GroupCommit({
      connection: connection.sql,
      begin: (kind) => this.#retryWhileBusy(() => connection.control(beginStatements[kind])),
      control: (statement) => connection.control(statement),
      isOpen: () => connection.isInTransaction,
      writeCount: () => connection.writeCount,
      errorFrom: (error) => toStoreError(error, options.path),
    });
  }

  /** Opens the file and creates it if it does not exist. */
  static async open(options: SqliteDriverOptions): Promise<SqliteDriver> {
    try {
      const driver = new SqliteDriver(options);
      await driver.#configure().catch((error: unknown) => {
        driver.#connection.close();
        throw error;
      });
      return driver;
    } catch (error) {
      throw toStoreError(error, options.path);
    }
  }

  read<TResult>(work: (connection: SqlConnection) => Promise<TResult>): Promise<TResult> {
    return this.#transaction('read', work);
  }

  /** Other processes are not notified: they poll the file. */
  write<TResult>(work: (connection: SqlConnection) => Promise<TResult>): Promise<TResult> {
    return this.#transaction('write', work);
  }

  onExternalChange(listener: StoreChangeListener): () => void {
    if (this.#options.path === ':memory:') return () => undefined;
    this.#listeners.add(listener);
    this.#poll ??= setInterval(() => this.#pollChanges(), this.#options.outsidePollMs);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stopPolling();
    };
  }

  onBusy(listener: (ms: number) => void): void {
    this.#groups.onBusy = listener;
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#groups.idle();
    this.#stopPolling();
    this.#connection.close();
  }

  async #configure(): Promise<void> {
    const connection = this.#connection;
    await this.#retryWhileBusy(() => connection.execute('PRAGMA journal_mode = WAL'));
    connection.configure(this.#options);
    // A group commit changes more pages than SQLite's default cache holds; pages that do not fit are written twice.
    connection.execute(`PRAGMA cache_size = -${cacheKibibytes}`);
    // Another process may be creating or closing the write-ahead log.
    await this.#retryWhileBusy(() => {
      this.#dataVersion = connection.readDataVersion();
    });
  }

  async #transaction<TResult>(
    kind: TransactionKind,
    work: (connection: SqlConnection) => Promise<TResult>,
  ): Promise<TResult> {
    this.#assertOpen();
    return this.#groups.run(kind, work);
  }

  /** Retries without blocking while another process holds the lock. */
  async #retryWhileBusy(attempt: () => void): Promise<void> {
    const deadline = performance.now() + this.#options.busyTimeoutMs;
    for (;;) {
      try {
        attempt();
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error;
      }
      // System time, not the store's clock: the lock belongs to another process.
      await systemClock.sleep(busyRetryMs);
    }
  }

  #pollChanges(): void {
    const version = this.#connection.readDataVersion();
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    for (const listener of [...this.#listeners]) listener(unknownChange);
  }

  #stopPolling(): void {
    if (this.#poll !== null) clearInterval(this.#poll);
    this.#poll = null;
  }

  #assertOpen(): void {
    if (this.#isOpen) return;
    throw new AgentLightningError({
      code: 'PRECONDITION_FAILED',
      message: `The store ${this.#options.path} is closed`,
      remedy: 'Open it again with openStore, or close it later.',
    });
  }
}
