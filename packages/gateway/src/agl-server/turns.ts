/** Lets work on the same thing happen one after the other, and work on different things at once. */
export class Turns {
  readonly #last: Map<string, Promise<void>> = new Map();

  /** Does the work when all earlier work on `key` is over, however that ended. */
  async take<TResult>(key: string, work: () => Promise<TResult>): Promise<TResult> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const over = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, over);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === over) this.#last.delete(key);
    }
  }
}
