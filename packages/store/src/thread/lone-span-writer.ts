import type { Clock, StoreChange } from '@agentlightning/core';
import { SqliteConnection, type SqliteConnectionOptions } from '../drivers/sqlite-connection.ts';
import { sqliteDialect } from '../drivers/sqlite-dialect.ts';
import { operationTime } from '../operation.ts';
import { appendSpanRows } from '../operations/append-spans.ts';
import type { SpanRow } from '../span-row.ts';
import { ChangeRecorder } from '../store-change.ts';

/** A span that was written. */
export interface LoneWrite {
  /** Null for one that was there already. */
  readonly sequenceId: number | null;
  /** What it changed. */
  readonly changes: readonly StoreChange[];
  /** About how many bytes it added to the log. */
  readonly bytes: number;
}

/** How a lone span writer works. */
export interface LoneSpanWriterOptions extends SqliteConnectionOptions {
  readonly clock: Clock;
  /** How long there is between spans, on average, where they come one by one, in milliseconds. @default 1 */
  readonly minGapMs?: number;
}

/** How much of the average the newest gap between spans is. */
const newestShare = 0.1;
/** What a pause counts for at most, in milliseconds: a collection of garbage in the middle of much work is none. */
const longestGapMs = 4;

/** How many characters a span has that is written here at most: more keep this thread from everything else for too long. */
const longestBody = 2 ** 17;

/** The last of so many spans goes to the thread that serves the store, which sees to the log before it writes. */
const spansInARow = 64;

/**
 * Writes a span that comes alone to the file of a store that another thread serves, as a connection of its own. The way
 * to that thread and back takes two and a half times as long as writing does, and where spans come one by one there is
 * nothing that this thread would have to do meanwhile. Spans that come together are the other thread's: they share a
 * commit there, and this one is busy.
 */
export class LoneSpanWriter {
  readonly #connection: SqliteConnection;
  readonly #clock: Clock;
  readonly #minGapMs: number;
  #lastMs = 0;
  #averageGapMs = longestGapMs;
  #spansInARow = 0;
  #underWay: Promise<LoneWrite | undefined> | null = null;
  #isOpen = true;

  private constructor(options: LoneSpanWriterOptions) {
    this.#clock = options.clock;
    this.#minGapMs = options.minGapMs ?? 1;
    this.#connection = new SqliteConnection(options.path);
    this.#connection.configure(options);
    // Moving the log into the file takes its time, which the other threads have.
    this.#connection.execute('PRAGMA wal_autocheckpoint = 0');
  }

  /**
   * Null for a store in the memory of the other thread, for one that syncs the disk with every write, during which this
   * thread would stand still, and for a file that cannot be opened here.
   */
  static open(options: LoneSpanWriterOptions): LoneSpanWriter | null {
    if (options.path === ':memory:' || options.durability === 'power') return null;
    try {
      return new LoneSpanWriter(options);
    } catch {
      return null;
    }
  }

  /**
   * Notes that so many spans have come, and says whether it is a single one in a time in which they come one by one.
   * A pause before it is not enough: whenever two connections write in turns, each forgets what it knows of the file.
   *
   * @param atMs - when, in milliseconds of real time: it is about how busy this thread is
   */
  noteArrival(count: number, atMs: number): boolean {
    const gapMs = Math.min(atMs - this.#lastMs, longestGapMs) / count;
    this.#lastMs = atMs;
    this.#averageGapMs += (gapMs - this.#averageGapMs) * newestShare;
    return count === 1 && this.#averageGapMs >= this.#minGapMs && this.#isOpen && this.#underWay === null;
  }

  /** Whether it is writing a span, and nobody else can. */
  get isWriting(): boolean {
    return this.#underWay !== null;
  }

  /**
   * Writes a span, to be durable when this resolves. Undefined when that is left to the other thread: at once, so that
   * the span gets there before whatever is asked for next, and later only where the span or the file has something wrong.
   */
  write(row: SpanRow): Promise<LoneWrite | undefined> | undefined {
    const body = row[9];
    if (body.length > longestBody) return undefined;
    this.#spansInARow = (this.#spansInARow + 1) % spansInARow;
    if (this.#spansInARow === 0 || !this.#begin()) return undefined;
    return this.#track(this.#transaction(row));
  }

  /** Lets go of the file, when what is under way is written. */
  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#underWay;
    this.#connection.close();
  }

  /** It waits for nobody: false where somebody is in the way. */
  #begin(): boolean {
    try {
      this.#connection.control('BEGIN IMMEDIATE');
      return true;
    } catch {
      return false;
    }
  }

  async #track(write: Promise<LoneWrite | undefined>): Promise<LoneWrite | undefined> {
    this.#underWay = write;
    try {
      return await write;
    } finally {
      this.#underWay = null;
    }
  }

  /** It explains nothing: where something is wrong, the other thread knows what to make of it. */
  async #transaction(row: SpanRow): Promise<LoneWrite | undefined> {
    const connection = this.#connection;
    const changes = new ChangeRecorder();
    try {
      const context = { db: connection.sql, dialect: sqliteDialect, nowMs: operationTime(this.#clock), changes };
      const [sequenceId = null] = await appendSpanRows(context, [row]);
      connection.control('COMMIT');
      return { sequenceId, changes: changes.changes, bytes: connection.takeBytesWritten() };
    } catch {
      if (connection.isInTransaction) connection.control('ROLLBACK');
      connection.takeBytesWritten();
      return undefined;
    }
  }
}
