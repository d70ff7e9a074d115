import type { Clock } from '@agentlightning/core';

/** Options of a {@link ClaimBudget}. */
export interface ClaimBudgetOptions {
  /** The number of rollouts that may be claimed; null for any. */
  readonly maxRollouts: number | null;
  readonly clock: Clock;
}

/** Counts the claims of the processes of a pool, and limits them. */
export class ClaimBudget {
  readonly #options: ClaimBudgetOptions;
  /** Claimed rollouts, and claims in flight. */
  #reserved = 0;
  #claimed = 0;
  #lastClaimMs: number | null = null;
  readonly #waiting = new Set<() => void>();

  constructor(options: ClaimBudgetOptions) {
    this.#options = options;
  }

  /** Whether all rollouts are claimed. */
  get isExhausted(): boolean {
    return this.#claimed >= (this.#options.maxRollouts ?? Number.POSITIVE_INFINITY);
  }

  /** Time since the last claim, in milliseconds; 0 before the first claim was tried. */
  get idleMs(): number {
    return this.#lastClaimMs === null ? 0 : this.#options.clock.now() - this.#lastClaimMs;
  }

  /**
   * Performs a claim of one rollout when the limit permits it, or waits until the signal aborts.
   *
   * @param claim - returns what it has claimed
   */
  async spend<TRollout>(claim: () => Promise<readonly TRollout[]>, signal: AbortSignal): Promise<readonly TRollout[]> {
    const { maxRollouts, clock } = this.#options;
    this.#lastClaimMs ??= clock.now();
    while (maxRollouts !== null && this.#reserved >= maxRollouts && !signal.aborted) await this.#change(signal);
    if (signal.aborted) return [];
    this.#reserved += 1;
    let claimed: readonly TRollout[] = [];
    try {
      claimed = await claim();
      return claimed;
    } finally {
      this.#reserved += claimed.length - 1;
      this.#claimed += claimed.length;
      if (claimed.length > 0) this.#lastClaimMs = clock.now();
      for (const resume of this.#waiting) resume();
    }
  }

  async #change(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#waiting.delete(resolve);
  }
}
