import { setImmediate } from 'node:timers/promises';

/** How long work may go on without the event loop having a turn, in milliseconds. */
const longestWithoutTurnMs = 10;

/**
 * Lets the event loop have its turn. SQLite answers at once, so that somebody who does one thing after
 * another with a store never waits for anything real, and timers and connections of the process would starve.
 */
export class EventLoopTurn {
  #nextTurn: Promise<void> | null = null;
  #waitingSinceMs = 0;

  /** To be called before each piece of work: waits for the event loop if it is overdue. */
  async give(): Promise<void> {
    if (this.#nextTurn === null) {
      this.#waitingSinceMs = performance.now();
      this.#nextTurn = setImmediate().then(() => {
        this.#nextTurn = null;
      });
    } else if (performance.now() - this.#waitingSinceMs > longestWithoutTurnMs) {
      await this.#nextTurn;
    }
  }
}
