/**
 * The slots for runs at a time, of all projects of a server. Each project waits with one run at a time, and the slots are
 * granted in the order of the requests: projects with waiting runs take turns.
 */
export class RunSlots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(size: number) {
    this.#free = size;
  }

  /**
   * Takes a slot when one is free.
   *
   * @returns releases it; null when the signal aborts first
   */
  async take(signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return null;
    if (this.#free > 0) {
      this.#free -= 1;
      return () => this.#release();
    }
    return await new Promise((resolve) => {
      const grant = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(() => this.#release());
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(grant), 1);
        resolve(null);
      };
      this.#waiting.push(grant);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
