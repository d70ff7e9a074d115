import type { SpanRow } from '../span-row.ts';
import type { LoneSpanWriter, LoneWrite } from './lone-span-writer.ts';
import type { StoreLine } from './store-line.ts';

/** The sequence ids of spans; null stands for one that was there already. */
type SequenceIds = readonly (number | null)[];

/** Appends spans to a store in another thread: one that comes alone in this thread, others in that one. */
export class SpanAppender {
  readonly #line: StoreLine;
  readonly #loneSpans: LoneSpanWriter | null;

  /** @param loneSpans - null where only the other thread can write */
  constructor(line: StoreLine, loneSpans: LoneSpanWriter | null) {
    this.#line = line;
    this.#loneSpans = loneSpans;
  }

  /** Whichever thread writes spans, they are numbered in the order in which they came, and come before what is asked for next. */
  append(rows: readonly SpanRow[]): Promise<SequenceIds> {
    const isAlone = this.#loneSpans?.noteArrival(rows.length, performance.now()) === true && this.#line.isQuiet;
    const [first] = rows;
    if (!isAlone || first === undefined) return this.#appendThere(rows);
    const write = this.#loneSpans?.write(first);
    return write === undefined ? this.#appendThere(rows) : this.#finishHere(first, write);
  }

  /** Appends no more in this thread, when what is under way is written. */
  async close(): Promise<void> {
    await this.#loneSpans?.close();
  }

  async #finishHere(row: SpanRow, write: Promise<LoneWrite | undefined>): Promise<SequenceIds> {
    const written = await write;
    if (written === undefined) return await this.#appendThere([row]);
    this.#line.mention(['written', this.#line.nextId(), written.changes, written.bytes]);
    // A span alone can wait a little to be told of. What it did to its attempt cannot: the other thread may do more to it.
    if (written.changes.length > 1) this.#line.flush();
    return [written.sequenceId];
  }

  /** As rows: their JSON is text already, which crosses at a fraction of what objects cost, and numbers alone come back. */
  #appendThere(rows: readonly SpanRow[]): Promise<SequenceIds> {
    const id = this.#line.nextId();
    const sequenceIds = this.#line.ask<SequenceIds>(id, ['spans', id, rows]);
    // At once, because spans come in batches that were gathered already. But while one is written here, the other thread
    // would find the file locked. At the end of this turn it is free, and what that one changed is told before these.
    if (this.#loneSpans?.isWriting !== true) this.#line.flush();
    return sequenceIds;
  }
}
