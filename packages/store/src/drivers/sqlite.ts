import { AgentLightningError } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import type { SqlConnection, SqlDriver } from '../sql-driver.ts';
import { type StoreChangeListener, unknownChange } from '../store-change.ts';
import { GroupCommit, type TransactionKind } from './group-commit.ts';
import { SqliteConnection, type SqliteConnectionOptions } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { isBusy, storeErrorFrom } from './sqlite-error.ts';

/** How the SQLite driver opens its file. */
export interface SqliteDriverOptions extends SqliteConnectionOptions {
  /** How long to wait while another process writes, in milliseconds. */
  readonly busyTimeoutMs: number;
  /** How often to look for changes by other processes, in milliseconds. */
  readonly outsidePollMs: number;
}

const busyRetryMs = 2;
/** Size of SQLite's page cache, in KiB. */
const cacheKibibytes = 8192;
const beginStatements: Readonly<Record<TransactionKind, string>> = { read: 'BEGIN DEFERRED', write: 'BEGIN IMMEDIATE' };

/** The embedded database: one connection, one transaction at a time, one commit for all work that is queued together. */
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
      begin: (kind) => this.#whenFree(() => connection.control(beginStatements[kind])),
      control: (statement) => connection.control(statement),
      isOpen: () => connection.isInTransaction,
      writeCount: () => connection.writeCount,
      errorFrom: (error) => storeErrorFrom(error, options.path),
    });
  }

  /** Opens the file, and makes it when there is none. */
  static async open(options: SqliteDriverOptions): Promise<SqliteDriver> {
    try {
      const driver = new SqliteDriver(options);
      await driver.#configure().catch((error: unknown) => {
        driver.#connection.close();
        throw error;
      });
      return driver;
    } catch (error) {
      throw storeErrorFrom(error, options.path);
    }
  }

  read<TResult>(work: (connection: SqlConnection) => Promise<TResult>): Promise<TResult> {
    return this.#transaction('read', work);
  }

  /** Nothing is told to other processes: they see by themselves that the file changed. */
  write<TResult>(work: (connection: SqlConnection) => Promise<TResult>): Promise<TResult> {
    return this.#transaction('write', work);
  }

  onOutsideChange(listener: StoreChangeListener): () => void {
    if (this.#options.path === ':memory:') return () => undefined;
    this.#listeners.add(listener);
    this.#poll ??= setInterval(() => this.#lookForChanges(), this.#options.outsidePollMs);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stopPolling();
    };
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#groups.idle();
    this.#stopPolling();
    this.#connection.close();
  }

  async #configure(): Promise<void> {
    const connection = this.#connection;
    await this.#whenFree(() => connection.execute('PRAGMA journal_mode = WAL'));
    connection.configure(this.#options);
    // A group commit changes more pages than SQLite's default cache holds; pages that do not fit are written twice.
    connection.execute(`PRAGMA cache_size = -${cacheKibibytes}`);
    this.#dataVersion = connection.readDataVersion();
  }

  async #transaction<TResult>(
    kind: TransactionKind,
    work: (connection: SqlConnection) => Promise<TResult>,
  ): Promise<TResult> {
    this.#assertOpen();
    return this.#groups.run(kind, work);
  }

  /** Does something that needs a lock; while another process holds it, tries again without blocking. */
  async #whenFree(attempt: () => void): Promise<void> {
    const deadline = performance.now() + this.#options.busyTimeoutMs;
    for (;;) {
      try {
        attempt();
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error;
      }
      // Real time on purpose: the lock is another process's, which knows nothing of our clock.
      await systemClock.sleep(busyRetryMs);
    }
  }

  #lookForChanges(): void {
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
