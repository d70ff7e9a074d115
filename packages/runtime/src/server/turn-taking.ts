/** Lets one piece of work run at a time, in the order they came. */
export class TurnTaking {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work when everything before it has ended; an error is the caller's alone. */
  run<TResult>(work: () => Promise<TResult>): Promise<TResult> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
