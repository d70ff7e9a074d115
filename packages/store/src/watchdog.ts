/** The work of one tick. */
export type WatchdogRound = () => Promise<unknown>;

/** Runs a round of maintenance at an interval, such as ending expired attempts. */
export class Watchdog {
  readonly #round: WatchdogRound;
  readonly #timer: NodeJS.Timeout;
  #current: Promise<unknown> | null = null;

  /** Starts the timer, which does not keep the process alive. */
  constructor(intervalMs: number, round: WatchdogRound) {
    this.#round = round;
    this.#timer = setInterval(() => this.#tick(), intervalMs);
    this.#timer.unref();
  }

  /** Stops the timer and waits for a running round. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#current;
  }

  #tick(): void {
    if (this.#current !== null) return;
    // Errors (a full disk, a locked file) are swallowed: the next round retries, and callers of the store get the same
    // error.
    const ended = (): void => {
      this.#current = null;
    };
    this.#current = this.#round().then(ended, ended);
  }
}
