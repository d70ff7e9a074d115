/** Lets one piece of work run at a time, in the order they came. */
export class TurnTaking {
  #last: Promise<unknown> = Promise.resolve();
  #unfinished = 0;

  /** True while something runs or waits for its turn. */
  get isBusy(): boolean {
    return this.#unfinished > 0;
  }

  /** Runs the work when everything before it has ended; an error is the caller's alone. */
  run<TResult>(work: () => Promise<TResult>): Promise<TResult> {
    this.#unfinished += 1;
    const turn = this.#last.then(work).finally(() => {
      this.#unfinished -= 1;
    });
    this.#last = turn.catch(() => {});
    return turn;
  }
}
