import type { Clock } from '../clock.ts';

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/**
 * A clock that stands still until a test moves it.
 *
 * @example
 * ```ts
 * const clock = new ManualClock();
 * const slept = clock.sleep(1000);
 * await clock.advance(1000);
 * await slept;
 * ```
 */
export class ManualClock implements Clock {
  #nowMs: number;
  #sleepers: Sleeper[] = [];
  #onSleep: (() => void)[] = [];

  /** @param startMs - Unix milliseconds it begins at. @default 1_700_000_000_000 */
  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  /** How many sleep at present. */
  get sleepers(): number {
    return this.#sleepers.length;
  }

  now(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const sleeper: Sleeper = {
        dueMs: this.#nowMs + ms,
        wake: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#sleepers.push(sleeper);
      for (const notify of this.#onSleep.splice(0)) notify();
    });
  }

  /**
   * Moves time on. Sleepers wake in the order of their time, and what they start gets its turn before the
   * next one wakes.
   */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#nowMs + ms;
    await turn();
    for (let next = this.#takeDue(targetMs); next !== undefined; next = this.#takeDue(targetMs)) {
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.wake();
      await turn();
    }
    this.#nowMs = targetMs;
  }

  /** Resolves when at least so many sleep: what is tested has then come to its wait. */
  async waitForSleepers(count: number): Promise<void> {
    while (this.#sleepers.length < count) {
      await new Promise<void>((resolve) => {
        this.#onSleep.push(resolve);
      });
    }
  }

  #takeDue(targetMs: number): Sleeper | undefined {
    const due = this.#sleepers.filter((sleeper) => sleeper.dueMs <= targetMs);
    const first = due.reduce<Sleeper | undefined>(
      (earliest, sleeper) => (earliest === undefined || sleeper.dueMs < earliest.dueMs ? sleeper : earliest),
      undefined,
    );
    if (first !== undefined) this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== first);
    return first;
  }
}

/** Lets everything that is ready to run, run. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
