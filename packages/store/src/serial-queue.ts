/** Runs pieces of work one after another, in the order in which they were given. */
export class SerialQueue {
  #last: Promise<void> = Promise.resolve();

  /** Runs the work when everything before it has ended; a failure reaches its own caller only. */
  run<TResult>(work: () => Promise<TResult>): Promise<TResult> {
    const result = this.#last.then(work);
    this.#last = result.then(ignore, ignore);
    return result;
  }
}

function ignore(): void {}
