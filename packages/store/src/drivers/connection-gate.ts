/** Lets so many in at once, the others in the order in which they came. */
export class ConnectionGate {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(size: number) {
    this.#free = size;
  }

  /** Runs the work when there is room for it. */
  async run<TResult>(work: () => Promise<TResult>): Promise<TResult> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((enter) => this.#waiting.push(enter));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
