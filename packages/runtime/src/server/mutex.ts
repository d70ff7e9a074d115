/** Runs one piece of work at a time, in FIFO order. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();
  #unfinished = 0;

  /** True while work is running or waiting. */
  get isBusy(): boolean {
    return this.#unfinished > 0;
  }

  /** Runs the work after all earlier work has ended; an error affects its caller only. */
  run<TResult>(work: () => Promise<TResult>): Promise<TResult> {
    this.#unfinished += 1;
    const turn = this.#last.then(work).finally(() => {
      this.#unfinished -= 1;
    });
    this.#last = turn.catch(() => {});
    return turn;
  }
}
