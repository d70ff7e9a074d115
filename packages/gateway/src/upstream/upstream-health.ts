/** Whether an upstream returns the token ids that training needs. */
export type TokenSupport = 'unknown' | 'given' | 'missing' | 'refused';

/** The health of an upstream, by its calls and health checks. One that is down is in a cooldown. */
export class UpstreamHealth {
  readonly #failuresUntilDown: number;
  #failures = 0;
  #cooldowns = 0;
  #lastFailure: string | null = null;
  #isUp = true;

  /** @param failuresUntilDown - consecutive failures that take the upstream out */
  constructor(failuresUntilDown: number) {
    this.#failuresUntilDown = failuresUntilDown;
  }

  /** Whether calls are sent to it first. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** The last failure; null when there was none since the last success. */
  get lastFailure(): string | null {
    return this.#lastFailure;
  }

  /** Consecutive cooldowns without a successful call. */
  get cooldowns(): number {
    return this.#cooldowns;
  }

  /** A call succeeded. @returns whether the upstream was down */
  succeeded(): boolean {
    const wasDown = !this.#isUp;
    this.#failures = 0;
    this.#cooldowns = 0;
    this.#lastFailure = null;
    this.#isUp = true;
    return wasDown;
  }

  /**
   * A call failed.
   *
   * @param isConclusive - takes the upstream out at once
   * @returns whether this took the upstream out
   */
  failed(reason: string, isConclusive = false): boolean {
    this.#failures += 1;
    this.#lastFailure = reason;
    if (!this.#isUp || (!isConclusive && this.#failures < this.#failuresUntilDown)) return false;
    this.#isUp = false;
    this.#cooldowns += 1;
    return true;
  }

  /** A health check succeeded. After a cooldown, the next failure takes the upstream out again. @returns whether it was down */
  checkSucceeded(): boolean {
    const wasDown = !this.#isUp;
    this.#failures = this.#cooldowns > 0 ? this.#failuresUntilDown - 1 : 0;
    this.#lastFailure = null;
    this.#isUp = true;
    return wasDown;
  }

  /** A health check failed; the cooldown of one that is down gets longer. @returns whether this took the upstream out */
  checkFailed(reason: string): boolean {
    if (!this.#isUp) this.#cooldowns += 1;
    return this.failed(reason);
  }
}
