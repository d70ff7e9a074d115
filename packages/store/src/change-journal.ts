import type { StoreChange, WatchOptions } from '@agentlightning/core/store';
import type { StoreChangeListener } from './store-change.ts';

/** A change and its place in the journal, for whoever wants to go on from there. */
export interface JournalEntry {
  readonly id: string;
  readonly change: StoreChange;
}

/** What to read of a journal, and from where. */
export interface JournalReading extends WatchOptions {
  /** The id of the last entry that was read, to go on after it. @default null from now on */
  readonly after?: string | null;
}

/** What a journal works with. */
export interface ChangeJournalOptions {
  /** Calls back for every change until what it returns is called. */
  readonly subscribe: (listener: StoreChangeListener) => () => void;
  /** Finds the run of a rollout; null when it has none or is gone. */
  readonly findRunId: (rolloutId: string) => Promise<string | null>;
  /** How many changes it keeps. @default 4096 */
  readonly capacity?: number;
}

/**
 * The last changes of a store, numbered, for any number of readers, each at its own pace. It keeps only so many: a
 * reader that falls behind is told `unknown` and goes on from now, so that a slow reader costs nothing.
 */
export class ChangeJournal {
  readonly #options: ChangeJournalOptions;
  readonly #capacity: number;
  /** Ids hold only within this journal: another process, or the next start, has another one. */
  readonly #name = crypto.randomUUID().slice(0, 8);
  readonly #entries: StoreChange[] = [];
  #lastNumber = 0;
  #unsubscribe: (() => void) | null = null;
  #waiting: (() => void)[] = [];

  constructor(options: ChangeJournalOptions) {
    this.#options = options;
    this.#capacity = options.capacity ?? 4096;
  }

  /**
   * Reads changes as they come, until the signal ends it. The first entry is `unknown`, which says that nothing is
   * missed from here on, unless the journal still has all that came after the last entry that was read.
   */
  async *read(reading: JournalReading): AsyncGenerator<JournalEntry, void, undefined> {
    this.#unsubscribe ??= this.#options.subscribe((changes) => this.#append(changes));
    const { signal } = reading;
    const wake = (): void => this.#wake();
    signal?.addEventListener('abort', wake);
    const isWanted = this.#filterOf(reading);
    let at = this.#numberOf(reading.after ?? null);
    try {
      while (!signal?.aborted) {
        if (at === null || at < this.#firstNumber - 1) {
          at = this.#lastNumber;
          yield { id: this.#idOf(at), change: { kind: 'unknown' } };
        } else if (at === this.#lastNumber) {
          await new Promise<void>((resolve) => this.#waiting.push(resolve));
        } else {
          at += 1;
          const change = this.#entries[at - this.#firstNumber];
          const id = this.#idOf(at);
          if (change !== undefined && (await isWanted(change)) && !signal?.aborted) yield { id, change };
        }
      }
    } finally {
      signal?.removeEventListener('abort', wake);
    }
  }

  /** Listens no more. Readers end by their signals. */
  close(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = null;
  }

  get #firstNumber(): number {
    return this.#lastNumber - this.#entries.length + 1;
  }

  #append(changes: readonly StoreChange[]): void {
    this.#entries.push(...changes);
    this.#lastNumber += changes.length;
    // In bulk, so that the cost of moving entries is shared by many changes.
    if (this.#entries.length > 2 * this.#capacity) this.#entries.splice(0, this.#entries.length - this.#capacity);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #idOf(number: number): string {
    return `${this.#name}-${number}`;
  }

  #numberOf(id: string | null): number | null {
    const [, name, digits] = /^(.+)-(\d{1,15})$/.exec(id ?? '') ?? [];
    const number = Number(digits);
    return name === this.#name && number <= this.#lastNumber ? number : null;
  }

  #filterOf({ kindIn, rolloutIdIn, runId }: WatchOptions): (change: StoreChange) => boolean | Promise<boolean> {
    const kinds = kindIn === undefined ? null : new Set<string>(kindIn);
    const rolloutIds = rolloutIdIn === undefined ? null : new Set(rolloutIdIn);
    const runs = new Map<string, string | null>();
    return (change) => {
      if (change.kind === 'unknown') return true;
      if (kinds !== null && !kinds.has(change.kind)) return false;
      if (rolloutIds !== null && !('rolloutId' in change && rolloutIds.has(change.rolloutId))) return false;
      return runId === undefined || this.#isOfRun(change, runId, runs);
    };
  }

  async #isOfRun(change: StoreChange, runId: string, runs: Map<string, string | null>): Promise<boolean> {
    if ('runId' in change) return change.runId === runId;
    if (!('rolloutId' in change)) return false;
    const { rolloutId } = change;
    const known = runs.has(rolloutId) ? runs.get(rolloutId) : await this.#options.findRunId(rolloutId);
    if (runs.size >= this.#capacity) runs.clear();
    runs.set(rolloutId, known ?? null);
    return known === runId;
  }
}
