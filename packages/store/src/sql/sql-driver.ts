import type { StoreChange, StoreChangeListener } from '../changes/change-feed.ts';
import type { SqlDialect, SqlValue } from './sql-dialect.ts';

/** A row of a result, by column name. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** The target of an INSERT. Define each as a constant: drivers cache prepared statements by identity. */
export interface InsertTarget {
  readonly table: string;
  /** The columns and their types, in the order of the values. */
  readonly columns: Readonly<Record<string, 'text' | 'integer' | 'real'>>;
  /** The columns of a key: rows with an existing key are skipped. @default an existing key is an error */
  readonly unlessKnown?: readonly string[];
}

/** The clause of an INSERT that skips rows with an existing key. */
export function onConflict({ unlessKnown }: InsertTarget): string {
  return unlessKnown === undefined ? '' : ` ON CONFLICT (${unlessKnown.join(', ')}) DO NOTHING`;
}

/** Runs statements within one transaction. Placeholders are `?`, in order. */
export interface SqlConnection {
  /** Runs a statement and returns its rows, including those of `RETURNING`. */
  all(sql: string, parameters?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** Runs a statement and returns the number of changed rows. */
  run(sql: string, parameters?: readonly SqlValue[]): Promise<number>;
  /** Inserts rows, in batches where that is faster. */
  insert(target: InsertTarget, rows: readonly (readonly SqlValue[])[]): Promise<void>;
}

/**
 * The database interface of the store. Operations use it and work with every database.
 *
 * Callbacks of `read` and `write` must await nothing but their connection, because other transactions queue behind
 * them.
 */
export interface SqlDriver {
  /** The backend's name: `sqlite`, `postgres`. */
  readonly name: string;
  /** The SQL dialect. */
  readonly dialect: SqlDialect;
  /** Runs work in one transaction with a consistent snapshot. */
  read<TResult>(work: (connection: SqlConnection) => Promise<TResult>): Promise<TResult>;
  /**
   * Runs work in one transaction and rolls back when it throws. With concurrent writers the work may run more than
   * once, each time in a new transaction, so it must have no side effects outside its connection.
   */
  write<TResult>(
    work: (connection: SqlConnection) => Promise<TResult>,
    /** The changes to send to other processes, where the database supports it. @default none */
    changesOf?: (result: TResult) => readonly StoreChange[],
  ): Promise<TResult>;
  /** Subscribes to changes by other processes; returns the function that unsubscribes. */
  onExternalChange(listener: StoreChangeListener): () => void;
  /** The time of a database that several machines share, in Unix milliseconds. @default the clock of this process counts */
  timeMs?(): Promise<number>;
  /** Reports the time for which each transaction kept the thread busy, in milliseconds. @default another process works */
  onBusy?(listener: (ms: number) => void): void;
  /** Waits for running transactions, then closes the database. */
  close(): Promise<void>;
}
