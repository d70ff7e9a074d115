import type { SqlDialect } from './sql-dialect.ts';
import type { SqlValue } from './sql-value.ts';
import type { StoreChange, StoreChangeListener } from './store-change.ts';

/** A row of a result, by column name. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** Where rows go. Each is written down once, as a constant: drivers remember how they write to it. */
export interface InsertTarget {
  readonly table: string;
  /** The columns that are written, each with its type, in the order of the values. */
  readonly columns: Readonly<Record<string, 'text' | 'integer' | 'real'>>;
  /** The columns of a key: a row whose key is there already is left out. @default such a row is an error */
  readonly unlessKnown?: readonly string[];
}

/** The end of an INSERT that leaves out rows whose key is there already. */
export function onConflict({ unlessKnown }: InsertTarget): string {
  return unlessKnown === undefined ? '' : ` ON CONFLICT (${unlessKnown.join(', ')}) DO NOTHING`;
}

/** What runs statements, within one transaction. Placeholders are `?`, in order. */
export interface SqlConnection {
  /** Runs a statement and gives back its rows, those of `RETURNING` included. */
  all(sql: string, parameters?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** Runs a statement and gives back how many rows it changed. */
  run(sql: string, parameters?: readonly SqlValue[]): Promise<number>;
  /** Inserts rows, many at once where that is faster. */
  insert(target: InsertTarget, rows: readonly (readonly SqlValue[])[]): Promise<void>;
}

/**
 * A database, as far as the store needs one. Every operation is written once, over this interface.
 *
 * Work inside `read` and `write` may only wait for its connection: other work queues up behind it.
 */
export interface SqlDriver {
  /** The backend's name: `sqlite`, `postgres`. */
  readonly name: string;
  /** The few ways in which its SQL differs from others'. */
  readonly dialect: SqlDialect;
  /** Runs work in one transaction that sees one moment of the database. */
  read<TResult>(work: (connection: SqlConnection) => Promise<TResult>): Promise<TResult>;
  /**
   * Runs work in one transaction: all of it is written, or nothing when it throws. Where others write at the same
   * time the work may run more than once, each time in a new transaction: it does nothing but work with its connection.
   */
  write<TResult>(
    work: (connection: SqlConnection) => Promise<TResult>,
    /** What of it to tell other processes, where the database does that. @default nothing */
    changesOf?: (result: TResult) => readonly StoreChange[],
  ): Promise<TResult>;
  /** Tells when another process changed the database, until the function it returns is called. */
  onOutsideChange(listener: StoreChangeListener): () => void;
  /** Waits for what is under way, then lets go of the database. */
  close(): Promise<void>;
}
