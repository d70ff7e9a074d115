import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { SqlConnection } from '../sql-driver.ts';
import { SqliteInserter } from './sqlite-inserter.ts';

/** How a connection works with its file. */
export interface SqliteConnectionOptions {
  /** The file, or `:memory:`. */
  readonly path: string;
  /** `process`: what is acknowledged survives `kill -9`. `power`: it survives a power failure too, at a sync per write. */
  readonly durability: 'process' | 'power';
  /** The most the file may hold, in bytes; null for no limit but the disk's. */
  readonly maxSizeBytes: number | null;
}

const maxCachedStatements = 300;

/** One connection to a SQLite file, with a cache of prepared statements. */
export class SqliteConnection {
  /** What operations work with. */
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
    // Whoever waits for another's lock does so where it does not block the event loop.
    this.#database.exec('PRAGMA busy_timeout = 0');
  }

  /** How many statements ran that may have written something. */
  get writeCount(): number {
    return this.#writeCount;
  }

  /** Whether a transaction is open: some failures end it by themselves. */
  get isInTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** Sets what holds for this connection alone. The file is in WAL mode already. */
  configure({ durability, maxSizeBytes }: SqliteConnectionOptions): void {
    // In WAL mode NORMAL loses nothing when a process dies: a committed frame is in the operating system's
    // hands. Only a power failure may take the newest commits, and it never leaves a half-written one.
    this.#database.exec(`PRAGMA synchronous = ${synchronousOf(durability)}`);
    // What a statement may have to undo needs no file.
    this.#database.exec('PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY');
    if (maxSizeBytes !== null) this.#limitSize(maxSizeBytes);
  }

  /** Runs a statement that has no parameters, and that is used again: `COMMIT`. */
  control(statement: string): void {
    this.#statement(statement).run();
  }

  /** Runs statements once. */
  execute(statements: string): void {
    this.#database.exec(statements);
  }

  /** SQLite's number that changes when another connection commits. */
  readDataVersion(): unknown {
    return this.#database.prepare('PRAGMA data_version').get()?.data_version;
  }

  /** Lets go of the file. */
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
