/** A counting semaphore with a FIFO queue. */
export class Semaphore {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(size: number) {
    this.#free = size;
  }

  /** Runs the work when a slot is free. */
  async run<TResult>(work: () => Promise<TResult>): Promise<TResult> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
