/** What a write did that others may be waiting for. */
export interface StoreChange {
  /** Whether a rollout entered the queue. */
  readonly isQueued: boolean;
  /** The rollouts that ended. */
  readonly finishedRolloutIds: readonly string[];
}

/** Collects, within one transaction, what is told to those who wait once it is committed. */
export class ChangeRecorder implements StoreChange {
  isQueued = false;
  readonly finishedRolloutIds: string[] = [];
}

/** Tells those who wait in this process about changes, of this process and of others. */
export class ChangeFeed {
  readonly #listeners = new Set<(change: StoreChange | null) => void>();

  /** Calls the listener for every change until the function it returns is called. Null: another process changed something. */
  subscribe(listener: (change: StoreChange | null) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells every listener. */
  publish(change: StoreChange | null): void {
    for (const listener of [...this.#listeners]) listener(change);
  }
}
