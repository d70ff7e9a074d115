import type { StoreChange, WatchOptions } from '@agentlightning/core/store';
import type { StoreChangeListener } from './change-feed.ts';

/** A change and its journal id, from which a reader can resume. */
export interface JournalEntry {
  readonly id: string;
  readonly change: StoreChange;
}

/** Options of a journal reader. */
export interface JournalReading extends WatchOptions {
  /** The id of the last entry that was read; reading resumes after it. @default null new changes only */
  readonly after?: string | null;
}

/** Dependencies and options of a journal. */
export interface ChangeJournalOptions {
  /** Subscribes to all changes; returns the function that unsubscribes. */
  readonly subscribe: (listener: StoreChangeListener) => () => void;
  /** Returns the run of a rollout; null when it has none or is deleted. */
  readonly findRunId: (rolloutId: string) => Promise<string | null>;
  /** Number of changes that are kept. @default 4096 */
  readonly capacity?: number;
}

/**
 * A bounded log of the latest changes of a store, for any number of independent readers. A reader that falls behind
 * receives `unknown` and continues with new changes, so a slow reader costs no memory.
 */
export class ChangeJournal {
  readonly #options: ChangeJournalOptions;
  readonly #capacity: number;
  /** Prefix of ids, which are valid within this journal only: not in other processes or after a restart. */
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
   * Yields changes until the signal aborts. The first entry is `unknown` (no change after it is missed), unless the
   * journal still holds every entry after `after`.
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

  /** Unsubscribes. Readers end by their signals. */
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
    // Trimmed in bulk to amortise the cost of moving entries.
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
