import { randomUUID } from 'node:crypto';

/** A measurement. */
export interface Metric {
  /** Empty for the runtime as a whole. */
  readonly modelId: string;
  readonly name: string;
  readonly value: number;
  /** The model's optimizer steps at that time. */
  readonly step: number;
  /** Unix milliseconds. */
  readonly timeMs: number;
}

/** Measurements recorded together, and the cursor after them. */
export interface MetricEntry {
  readonly cursor: string;
  readonly metrics: readonly Metric[];
}

interface NumberedEntry extends MetricEntry {
  readonly index: number;
}

/** Number of entries kept for later readers. */
const keptEntries = 4_096;

/** The latest measurements, for any number of readers. A slow reader misses the oldest. */
export class MetricLog {
  /** Distinguishes this log from that of an earlier process in cursors. */
  readonly #incarnation = randomUUID().slice(0, 8);
  readonly #entries: NumberedEntry[] = [];
  readonly #waiting = new Set<() => void>();
  #next = 1;

  /** Adds measurements. Numbers that are not finite are omitted. */
  add(metrics: readonly Metric[]): void {
    const finite = metrics.filter(({ value }) => Number.isFinite(value));
    if (finite.length === 0) return;
    this.#entries.push({ index: this.#next, cursor: `${this.#incarnation}:${this.#next}`, metrics: finite });
    this.#next += 1;
    if (this.#entries.length > keptEntries) this.#entries.shift();
    for (const wake of [...this.#waiting]) wake();
  }

  /**
   * Stored measurements after a cursor, then new ones, until the signal aborts. An unknown cursor restarts at the
   * beginning.
   */
  async *follow(afterCursor: string, signal: AbortSignal): AsyncGenerator<MetricEntry> {
    const [incarnation, index] = afterCursor.split(':');
    const parsed = incarnation === this.#incarnation ? Number(index) : 0;
    let place = Number.isSafeInteger(parsed) ? parsed : 0;
    while (!signal.aborted) {
      const next = this.#entries[Math.max(0, place + 1 - (this.#entries[0]?.index ?? 0))];
      if (next === undefined) {
        await this.#nextAddition(signal);
        continue;
      }
      place = next.index;
      yield next;
    }
  }

  #nextAddition(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
