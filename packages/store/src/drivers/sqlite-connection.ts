import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { SqlConnection } from '../sql/sql-driver.ts';
import { SqliteInserter } from './sqlite-inserter.ts';

/** Options of a connection. */
export interface SqliteConnectionOptions {
  /** The file, or `:memory:`. */
  readonly path: string;
  /**
   * `process`: acknowledged writes survive `kill -9`. `power`: they also survive a power failure, with a sync per
   * commit.
   */
  readonly durability: 'process' | 'power';
  /** Maximum size of the file in bytes; null for no limit. */
  readonly maxSizeBytes: number | null;
}

const maxCachedStatements = 300;

/** One connection to a SQLite file, with a cache of prepared statements. */
export class SqliteConnection {
  /** The interface for operations. */
  readonly sql: SqlConnection;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #inserter: SqliteInserter;
  #writeCount = 0;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#inserter = new SqliteInserter(this.#database);
    this.sql = {
      all: async (sql, parameters = []) => {
        if (!isSelect(sql)) this.#writeCount += 1;
        return this.#statement(sql).all(...parameters);
      },
      run: async (sql, parameters = []) => {
        this.#writeCount += 1;
        return Number(this.#statement(sql).run(...parameters).changes);
      },
      insert: async (target, rows) => {
        this.#writeCount += 1;
        this.#inserter.insert(target, rows);
      },
    };
    // The driver retries busy locks asynchronously: SQLite's busy handler would block the event loop.
    this.#database.exec('PRAGMA busy_timeout = 0');
  }

  /** Number of statements so far that may have written. */
  get writeCount(): number {
    return this.#writeCount;
  }

  /** Whether a transaction is open: some failures end it implicitly. */
  get isInTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** Applies connection settings. The file is already in WAL mode. */
  configure({ durability, maxSizeBytes }: SqliteConnectionOptions): void {
    // In WAL mode, NORMAL loses no commit when the process dies: committed frames are in the page cache. // A power
    // failure may lose the latest commits and never leaves a partial one.
    this.#database.exec(`PRAGMA synchronous = ${synchronousOf(durability)}`);
    // Statement journals are kept in memory.
    this.#database.exec('PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY');
    if (maxSizeBytes !== null) this.#limitSize(maxSizeBytes);
  }

  /** Runs a reusable statement without parameters, such as `COMMIT`. */
  control(statement: string): void {
    this.#statement(statement).run();
  }

  /** Runs statements once. */
  execute(statements: string): void {
    this.#database.exec(statements);
  }

  /** SQLite's data version, which changes when another connection commits. */
  readDataVersion(): unknown {
    return this.#database.prepare('PRAGMA data_version').get()?.data_version;
  }

  /** Closes the file. */
  close(): void {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #limitSize(maxSizeBytes: number): void {
    const pageSize = Number(this.#database.prepare('PRAGMA page_size').get()?.page_size ?? 4096);
    this.#database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxSizeBytes / pageSize))}`);
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    if (this.#statements.size >= maxCachedStatements) this.#statements.clear();
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** The `synchronous` pragma of a durability. */
function synchronousOf(durability: SqliteConnectionOptions['durability']): 'NORMAL' | 'FULL' {
  return durability === 'power' ? 'FULL' : 'NORMAL';
}

function isSelect(sql: string): boolean {
  return sql.startsWith('SELECT');
}
