import { AgentLightningError } from '@agentlightning/core';

/** The responses that are being sampled. */
export class InFlight {
  readonly #running = new Set<Promise<unknown>>();
  #abort = new AbortController();

  /** Number of them. */
  get count(): number {
    return this.#running.size;
  }

  /** Counts a response until it has ended or is aborted. */
  async track<TResult>(work: Promise<TResult>): Promise<TResult> {
    const { signal } = this.#abort;
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const either = Promise.race([work, aborted.promise]);
    const settled = either.then(ignore, ignore);
    this.#running.add(settled);
    try {
      return await either;
    } finally {
      signal.removeEventListener('abort', abort);
      this.#running.delete(settled);
    }
  }

  /** Resolves when none is left. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Ends all with an error. */
  abort(reason: string): void {
    this.#abort.abort(new AgentLightningError({ code: 'CANCELLED', message: reason }));
    this.#abort = new AbortController();
  }
}

function ignore(): void {
  // The outcome is that of the tracked work.
}
