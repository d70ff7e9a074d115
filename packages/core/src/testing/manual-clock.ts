import type { Clock } from '../base/clock.ts';

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/**
 * A clock that tests advance explicitly.
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

  /** @param startMs - initial time in Unix milliseconds. @default 1_700_000_000_000 */
  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  /** Number of pending sleeps. */
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

  /** Advances time. Sleeps resolve in order of their time, and their continuations run before the next one resolves. */
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

  /** Resolves with at least this number of pending sleeps: the code under test has reached its wait. */
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

/** Runs pending microtasks and immediates. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
