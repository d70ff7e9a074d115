import { AgentLightningError, systemClock } from '@agentlightning/core';
import type { SqlConnection, SqlDriver } from '../sql-driver.ts';
import { type StoreChangeListener, unknownChange } from '../store-change.ts';
import { GroupCommit, type TransactionKind } from './group-commit.ts';
import { SqliteCheckpointer } from './sqlite-checkpointer.ts';
import { SqliteConnection, type SqliteConnectionOptions, synchronousOf } from './sqlite-connection.ts';
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
/**
 * How long the write-ahead log grows before a commit copies it into the file: to 32 MiB, or to 256 MiB while another
 * thread copies it meanwhile. It grows that long only when a reader in another process keeps it from beginning anew.
 */
const pagesPerCheckpoint = { alone: 8192, helped: 65_536 } as const;
/** How much of the file is kept in memory, in KiB. */
const cacheKibibytes = 8192;
const beginStatements: Readonly<Record<TransactionKind, string>> = { read: 'BEGIN DEFERRED', write: 'BEGIN IMMEDIATE' };

/** The embedded database: one connection, used by one piece of work at a time, and one commit for those that come together. */
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
  readonly #checkpointer: SqliteCheckpointer | null;
  #isLogHelped = false;

  private constructor(options: SqliteDriverOptions) {
    this.#options = options;
    const connection = new SqliteConnection(options.path);
    this.#connection = connection;
    this.#checkpointer =
      options.path === ':memory:'
        ? null
        : new SqliteCheckpointer({ path: options.path, synchronous: synchronousOf(options.durability) });
    this.#groups = new GroupCommit({
      connection: connection.sql,
      begin: async (kind) => {
        if (kind === 'write') await this.#checkpointer?.makeRoom();
        await this.#whenFree(() => connection.control(beginStatements[kind]));
      },
      control: (statement) => {
        connection.control(statement);
        if (statement === 'COMMIT') this.noteCommitted(connection.takeBytesWritten());
      },
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
    await this.#checkpointer?.close();
    this.#connection.close();
  }

  /** Has the log seen to, and lets it grow longer while another thread copies it. */
  noteCommitted(bytes: number): void {
    const checkpointer = this.#checkpointer;
    if (checkpointer === null) return;
    checkpointer.committed(bytes);
    if (checkpointer.isRunning === this.#isLogHelped) return;
    this.#isLogHelped = checkpointer.isRunning;
    this.#limitLog(this.#isLogHelped ? pagesPerCheckpoint.helped : pagesPerCheckpoint.alone);
  }

  async #configure(): Promise<void> {
    const connection = this.#connection;
    await this.#whenFree(() => connection.execute('PRAGMA journal_mode = WAL'));
    connection.configure(this.#options);
    // A commit for many changes more pages than SQLite's own cache holds, which would be written twice then.
    connection.execute(`PRAGMA cache_size = -${cacheKibibytes}`);
    // Pages that are written again before a checkpoint are copied into the file once: fewer checkpoints, less work.
    this.#limitLog(pagesPerCheckpoint.alone);
    this.#dataVersion = connection.readDataVersion();
  }

  #limitLog(pages: number): void {
    this.#connection.execute(`PRAGMA wal_autocheckpoint = ${pages}`);
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
