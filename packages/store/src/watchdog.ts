/** What the watchdog does at every tick. */
export type WatchdogRound = () => Promise<unknown>;

/** Ends attempts whose time is up, without needing anybody to call the store. */
export class Watchdog {
  readonly #round: WatchdogRound;
  readonly #timer: NodeJS.Timeout;
  #current: Promise<unknown> | null = null;

  /** Starts ticking. The timer does not keep the process alive. */
  constructor(intervalMs: number, round: WatchdogRound) {
    this.#round = round;
    this.#timer = setInterval(() => this.#tick(), intervalMs);
    this.#timer.unref();
  }

  /** Stops ticking and waits for a round that is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#current;
  }

  #tick(): void {
    if (this.#current !== null) return;
    // A round that fails (a full disk, a locked file) is made up for by the next one; whoever calls the
    // store meanwhile gets the same failure with its name.
    const ended = (): void => {
      this.#current = null;
    };
    this.#current = this.#round().then(ended, ended);
  }
}
