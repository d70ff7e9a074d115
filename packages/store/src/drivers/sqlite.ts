import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { AgentLightningError, systemClock } from '@agentlightning/core';
import type { SqlConnection, SqlDriver } from '../sql-driver.ts';
import type { SqlValue } from '../sql-value.ts';
import { type StoreChangeListener, unknownChange } from '../store-change.ts';
import { GroupCommit, type TransactionKind } from './group-commit.ts';
import { SqliteCheckpointer } from './sqlite-checkpointer.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { isBusy, storeErrorFrom } from './sqlite-error.ts';
import { bytesPerRow, SqliteInserter } from './sqlite-inserter.ts';

/** How the SQLite driver opens its file. */
export interface SqliteDriverOptions {
  /** The file, or `:memory:`. */
  readonly path: string;
  /** `process`: what is acknowledged survives `kill -9`. `power`: it survives a power failure too, at a sync per write. */
  readonly durability: 'process' | 'power';
  /** How long to wait while another process writes, in milliseconds. */
  readonly busyTimeoutMs: number;
  /** How often to look for changes by other processes, in milliseconds. */
  readonly outsidePollMs: number;
  /** The most the file may hold, in bytes; null for no limit but the disk's. */
  readonly maxSizeBytes: number | null;
}

const maxCachedStatements = 300;
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
  readonly #database: DatabaseSync;
  readonly #groups: GroupCommit<SqlConnection>;
  readonly #statements = new Map<string, StatementSync>();
  readonly #inserter: SqliteInserter;
  readonly #listeners = new Set<StoreChangeListener>();
  readonly #connection: SqlConnection;
  #poll: NodeJS.Timeout | null = null;
  #dataVersion: unknown = null;
  #isOpen = true;
  readonly #checkpointer: SqliteCheckpointer | null;
  #isLogHelped = false;
  #writeCount = 0;
  /** About how many bytes were written since the last commit. */
  #bytesWritten = 0;

  private constructor(options: SqliteDriverOptions) {
    this.#options = options;
    this.#database = new DatabaseSync(options.path);
    this.#checkpointer =
      options.path === ':memory:'
        ? null
        : new SqliteCheckpointer({ path: options.path, synchronous: synchronousOf(options) });
    this.#inserter = new SqliteInserter(this.#database, (bytes) => {
      this.#writeCount += 1;
      this.#bytesWritten += bytes;
    });
    this.#connection = {
      all: async (sql, parameters = []) => {
        if (!isSelect(sql)) this.#noteWrite(parameters);
        return this.#statement(sql).all(...parameters);
      },
      run: async (sql, parameters = []) => {
        this.#noteWrite(parameters);
        return Number(this.#statement(sql).run(...parameters).changes);
      },
      insert: async (target, rows) => this.#inserter.insert(target, rows),
    };
    this.#groups = new GroupCommit({
      connection: this.#connection,
      begin: async (kind) => {
        if (kind === 'write') await this.#checkpointer?.makeRoom();
        await this.#whenFree(() => this.#statement(beginStatements[kind]).run());
      },
      control: (statement) => {
        this.#statement(statement).run();
        if (statement === 'COMMIT') this.#afterCommit();
      },
      isOpen: () => this.#database.isTransaction,
      writeCount: () => this.#writeCount,
      errorFrom: (error) => storeErrorFrom(error, options.path),
    });
  }

  /** Opens the file, and makes it when there is none. */
  static async open(options: SqliteDriverOptions): Promise<SqliteDriver> {
    try {
      const driver = new SqliteDriver(options);
      await driver.#configure().catch((error: unknown) => {
        driver.#database.close();
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
    this.#statements.clear();
    await this.#checkpointer?.close();
    if (this.#database.isOpen) this.#database.close();
  }

  async #configure(): Promise<void> {
    const { maxSizeBytes } = this.#options;
    // Waiting for another process's lock happens in #whenFree, where it does not block the event loop.
    this.#database.exec('PRAGMA busy_timeout = 0');
    await this.#whenFree(() => this.#database.exec('PRAGMA journal_mode = WAL'));
    // In WAL mode NORMAL loses nothing when a process dies: a committed frame is in the operating system's
    // hands. Only a power failure may take the newest commits, and it never leaves a half-written one.
    this.#database.exec(`PRAGMA synchronous = ${synchronousOf(this.#options)}`);
    this.#database.exec('PRAGMA foreign_keys = ON');
    // A commit for many changes more pages than SQLite's own cache holds, which would be written twice then; and what
    // a statement may have to undo needs no file.
    this.#database.exec(`PRAGMA cache_size = -${cacheKibibytes}; PRAGMA temp_store = MEMORY`);
    // Pages that are written again before a checkpoint are copied into the file once: fewer checkpoints, less work.
    this.#limitLog(pagesPerCheckpoint.alone);
    if (maxSizeBytes !== null) this.#limitSize(maxSizeBytes);
    this.#dataVersion = this.#readDataVersion();
  }

  /** Lets the log grow longer while another thread copies it. */
  #afterCommit(): void {
    const checkpointer = this.#checkpointer;
    if (checkpointer === null) return;
    checkpointer.committed(this.#bytesWritten);
    this.#bytesWritten = 0;
    if (checkpointer.isRunning === this.#isLogHelped) return;
    this.#isLogHelped = checkpointer.isRunning;
    this.#limitLog(this.#isLogHelped ? pagesPerCheckpoint.helped : pagesPerCheckpoint.alone);
  }

  #limitLog(pages: number): void {
    this.#database.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
  }

  #limitSize(maxSizeBytes: number): void {
    const pageSize = Number(this.#database.prepare('PRAGMA page_size').get()?.page_size ?? 4096);
    this.#database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxSizeBytes / pageSize))}`);
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

  #noteWrite(values: readonly SqlValue[]): void {
    this.#writeCount += 1;
    this.#bytesWritten += bytesPerRow;
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index];
      if (typeof value === 'string') this.#bytesWritten += value.length;
    }
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    if (this.#statements.size >= maxCachedStatements) this.#statements.clear();
    this.#statements.set(sql, statement);
    return statement;
  }

  #lookForChanges(): void {
    const version = this.#readDataVersion();
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    for (const listener of [...this.#listeners]) listener(unknownChange);
  }

  /** SQLite's number that changes when another connection commits. */
  #readDataVersion(): unknown {
    return this.#database.prepare('PRAGMA data_version').get()?.data_version;
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

function isSelect(sql: string): boolean {
  return sql.startsWith('SELECT');
}

function synchronousOf({ durability }: SqliteDriverOptions): 'NORMAL' | 'FULL' {
  return durability === 'power' ? 'FULL' : 'NORMAL';
}
