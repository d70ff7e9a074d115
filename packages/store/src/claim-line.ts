import type { AttemptedRollout, Clock } from '@agentlightning/core';
import { isQueued } from './operations/rollout-record.ts';
import type { ChangeFeed, StoreChange } from './store-change.ts';

type Claimed = readonly AttemptedRollout[];

/** Somebody who waits for a rollout. */
interface Waiter {
  readonly runId: string | null;
  readonly claim: () => Promise<Claimed>;
  readonly settle: (result: Claimed) => void;
  readonly fail: (error: unknown) => void;
  /** Stops the waiter's timer. */
  readonly over: AbortController;
  isClaiming: boolean;
  isTired: boolean;
}

/** How somebody waits. */
export interface ClaimWait {
  /** The run whose rollouts are wanted; null for any. */
  readonly runId: string | null;
  /** At most this long, in milliseconds. */
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Those who wait for rollouts, first come first served. A new rollout wakes as many as it can serve,
 * instead of everybody at once.
 */
export class ClaimLine {
  readonly #clock: Clock;
  readonly #feed: ChangeFeed;
  readonly #watchOutside: () => () => void;
  readonly #waiting = new Set<Waiter>();
  #stopWatching: (() => void) | null = null;
  #isServing = false;
  #isServedAgain = false;

  constructor(clock: Clock, feed: ChangeFeed, watchOutside: () => () => void) {
    this.#clock = clock;
    this.#feed = feed;
    this.#watchOutside = watchOutside;
  }

  /** Claims until something is claimed or the wait is over; nothing is claimed then. */
  wait(claim: () => Promise<Claimed>, wait: ClaimWait): Promise<Claimed> {
    return new Promise<Claimed>((settle, fail) => {
      const over = new AbortController();
      const signal = wait.signal === undefined ? over.signal : AbortSignal.any([over.signal, wait.signal]);
      const waiter: Waiter = { runId: wait.runId, claim, isClaiming: false, isTired: false, settle, fail, over };
      this.#waiting.add(waiter);
      this.#stopWatching ??= this.#watch();
      // Whichever comes first: the time is up, or the caller gives up. Both end the wait without an error.
      const tire = (): void => this.#tire(waiter);
      void this.#clock.sleep(longest(wait.waitMs), signal).then(tire, tire);
      void this.#serve();
    });
  }

  /**
   * Serves those who wait if there is anything, although nobody said so: a claimant that dies in the middle of a
   * claim leaves its rollout in the queue without a word.
   */
  async lookAgain(isAnythingQueued: () => Promise<boolean>): Promise<void> {
    if (this.#waiting.size > 0 && (await isAnythingQueued())) void this.#serve();
  }

  /** Takes a waiter out of the line, at once: the same pass must not serve it twice. */
  #leave(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    waiter.over.abort();
    if (this.#waiting.size > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = null;
  }

  #watch(): () => void {
    const unsubscribe = this.#feed.subscribe((changes) => {
      if (changes.some(mayFillQueue)) void this.#serve();
    });
    const stopOutside = this.#watchOutside();
    return () => {
      unsubscribe();
      stopOutside();
    };
  }

  #tire(waiter: Waiter): void {
    waiter.isTired = true;
    // What a claim under way brings belongs to this waiter.
    if (waiter.isClaiming || !this.#waiting.has(waiter)) return;
    this.#leave(waiter);
    waiter.settle([]);
  }

  async #serve(): Promise<void> {
    this.#isServedAgain = true;
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#isServedAgain) {
      this.#isServedAgain = false;
      await this.#serveOnce();
    }
    this.#isServing = false;
  }

  async #serveOnce(): Promise<void> {
    const emptyFor = new Set<string | null>();
    for (const waiter of [...this.#waiting]) {
      if (waiter.isTired || emptyFor.has(null) || emptyFor.has(waiter.runId)) continue;
      waiter.isClaiming = true;
      try {
        const claimed = await waiter.claim();
        if (claimed.length === 0) emptyFor.add(waiter.runId);
        if (claimed.length === 0 && !waiter.isTired) continue;
        this.#leave(waiter);
        waiter.settle(claimed);
      } catch (error) {
        this.#leave(waiter);
        waiter.fail(error);
      } finally {
        waiter.isClaiming = false;
      }
    }
  }
}

function mayFillQueue(change: StoreChange): boolean {
  return change.kind === 'unknown' || (change.kind === 'rollout' && isQueued(change.status));
}

/** The longest time that timers can take, where more is asked for. */
export function longest(timeMs: number): number {
  return Math.min(timeMs, 2 ** 31 - 1);
}
