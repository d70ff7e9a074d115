/** Something whose latest change has a place in a {@link ChangeLog}. */
export interface Changing {
  changeIndex: number;
}

interface Change<TItem> {
  readonly index: number;
  readonly item: TItem;
}

/**
 * The order in which items last changed. A reader asks for what changed after a place; items that
 * changed again since are listed once, at their latest place, so a slow reader costs no memory.
 */
export class ChangeLog<TItem extends Changing> {
  #changes: Change<TItem>[] = [];
  #next = 1;
  #wake = new Set<() => void>();
  #end: { readonly error: unknown } | null = null;

  /** Puts an item's change at the end. */
  append(item: TItem): void {
    item.changeIndex = this.#next;
    this.#changes.push({ index: this.#next, item });
    this.#next += 1;
    this.#notify();
  }

  /** Forgets everything about items that are not kept, and places that are outdated. */
  compact(isKept: (item: TItem) => boolean): void {
    this.#changes = this.#changes.filter((change) => isCurrent(change) && isKept(change.item));
  }

  /** Ends every reading, now and later, with an error. */
  close(error: unknown): void {
    this.#end = { error };
    this.#notify();
  }

  /** Items that changed after a place, in order; then it waits for more until the signal aborts. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<TItem> {
    let place = after;
    while (!signal.aborted) {
      for (const change of this.#changes.slice(this.#firstAfter(place))) {
        if (isCurrent(change)) yield change.item;
        place = change.index;
      }
      if (this.#firstAfter(place) < this.#changes.length) continue;
      if (this.#end !== null) throw this.#end.error;
      await this.#nextChange(signal);
    }
  }

  /** Position of the first change after a place, by bisection: indexes rise. */
  #firstAfter(place: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const index = this.#changes[middle]?.index ?? 0;
      if (index <= place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wake.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      if (signal.aborted) {
        resolve();
        return;
      }
      this.#wake.add(wake);
      signal.addEventListener('abort', wake);
    });
  }

  #notify(): void {
    for (const wake of [...this.#wake]) wake();
  }
}

function isCurrent<TItem extends Changing>(change: Change<TItem>): boolean {
  return change.item.changeIndex === change.index;
}
