/** A mutex per key: work on one key is serialized, work on different keys is concurrent. */
export class KeyedMutex {
  readonly #last: Map<string, Promise<void>> = new Map();

  /** Runs the work once all earlier work on `key` has settled. */
  async runExclusive<TResult>(key: string, work: () => Promise<TResult>): Promise<TResult> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const ended = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, ended);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }
}
