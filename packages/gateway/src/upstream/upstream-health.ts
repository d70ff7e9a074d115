/** What an upstream is known to give: token ids are what training needs. */
export type TokenSupport = 'unknown' | 'given' | 'missing' | 'refused';

/** How an upstream does, as its calls and the health checks found it. */
export class UpstreamHealth {
  readonly #failuresUntilDown: number;
  #failures = 0;
  #lastFailure: string | null = null;
  #isUp = true;

  /** @param failuresUntilDown - how many failures in a row make it count as down */
  constructor(failuresUntilDown: number) {
    this.#failuresUntilDown = failuresUntilDown;
  }

  /** Whether calls should go there first. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** What went wrong last; null when nothing did since it last answered. */
  get lastFailure(): string | null {
    return this.#lastFailure;
  }

  /** It answered. @returns whether it was down until now */
  succeeded(): boolean {
    const wasDown = !this.#isUp;
    this.#failures = 0;
    this.#lastFailure = null;
    this.#isUp = true;
    return wasDown;
  }

  /** It could not be reached, or failed. @returns whether it is down since now */
  failed(reason: string): boolean {
    this.#failures += 1;
    this.#lastFailure = reason;
    if (!this.#isUp || this.#failures < this.#failuresUntilDown) return false;
    this.#isUp = false;
    return true;
  }
}
