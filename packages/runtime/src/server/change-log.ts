/** An item whose latest change has a position in a {@link ChangeLog}. */
export interface Changing {
  changeIndex: number;
}

interface Change<TItem> {
  readonly index: number;
  readonly item: TItem;
}

/**
 * Items in the order of their latest change. A reader requests the changes after a position; items that changed again
 * are listed once, at their latest position, so a slow reader needs no additional memory.
 */
export class ChangeLog<TItem extends Changing> {
  #changes: Change<TItem>[] = [];
  #next = 1;
  #wake = new Set<() => void>();
  #end: { readonly error: unknown } | null = null;

  /** Appends an item's change. */
  append(item: TItem): void {
    item.changeIndex = this.#next;
    this.#changes.push({ index: this.#next, item });
    this.#next += 1;
    this.#notify();
  }

  /** Removes all state of discarded items, and outdated positions. */
  compact(isKept: (item: TItem) => boolean): void {
    this.#changes = this.#changes.filter((change) => isCurrent(change) && isKept(change.item));
  }

  /** Ends all current and future reads with an error. */
  close(error: unknown): void {
    this.#end = { error };
    this.#notify();
  }

  /** Items changed after a position, in order; then waits for more until the signal aborts. */
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

  /** Index of the first change after a position, by bisection: positions ascend. */
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
