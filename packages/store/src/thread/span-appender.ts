import type { SpanRow } from '../span-row.ts';
import type { LoneSpanWriter } from './lone-span-writer.ts';
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

  /** At once, so that what is asked for next knows of it: only a span that is written here after all waits for that. */
  append(rows: readonly SpanRow[]): Promise<SequenceIds> {
    const isAlone = this.#loneSpans?.noteArrival(rows.length, performance.now()) === true && this.#line.isQuiet;
    const [first] = rows;
    return isAlone && first !== undefined ? this.#appendAlone(first) : this.#appendThere(rows);
  }

  async #appendAlone(row: SpanRow): Promise<SequenceIds> {
    const written = await this.#loneSpans?.write(row);
    if (written === undefined) return await this.#appendThere([row]);
    this.#line.mention(['written', this.#line.nextId(), written.changes, written.bytes]);
    return [written.sequenceId];
  }

  /** As rows: their JSON is text already, which crosses at a fraction of what objects cost, and numbers alone come back. */
  #appendThere(rows: readonly SpanRow[]): Promise<SequenceIds> {
    const id = this.#line.nextId();
    return this.#line.ask(id, ['spans', id, rows]);
  }
}
