import type { Clock } from '@agentlightning/core';
import type { AttemptedRollout } from '@agentlightning/core/store';
import type { ChangeFeed, StoreChange } from '../../changes/change-feed.ts';
import { isQueued } from '../records/rollout-record.ts';

type Claimed = readonly AttemptedRollout[];

/** A pending claim. */
interface Waiter {
  readonly runId: string | null;
  readonly claim: () => Promise<Claimed>;
  readonly settle: (result: Claimed) => void;
  readonly fail: (error: unknown) => void;
  /** Stops the waiter's timer. */
  readonly timer: AbortController;
  isClaiming: boolean;
  hasTimedOut: boolean;
}

/** Options of a pending claim. */
export interface ClaimWait {
  /** Claims rollouts of this run only; null for any run. */
  readonly runId: string | null;
  /** Timeout in milliseconds. */
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * A FIFO queue of pending claims. A new rollout wakes only as many claims as it can serve.
 */
export class ClaimQueue {
  readonly #clock: Clock;
  readonly #feed: ChangeFeed;
  readonly #watchExternal: () => () => void;
  readonly #waiting = new Set<Waiter>();
  #stopWatching: (() => void) | null = null;
  #isServing = false;
  #isServedAgain = false;

  constructor(clock: Clock, feed: ChangeFeed, watchExternal: () => () => void) {
    this.#clock = clock;
    this.#feed = feed;
    this.#watchExternal = watchExternal;
  }

  /** Retries a claim until it returns rollouts; returns an empty list on timeout or abort. */
  wait(claim: () => Promise<Claimed>, wait: ClaimWait): Promise<Claimed> {
    return new Promise<Claimed>((settle, fail) => {
      const timer = new AbortController();
      const signal = wait.signal === undefined ? timer.signal : AbortSignal.any([timer.signal, wait.signal]);
      const waiter: Waiter = { runId: wait.runId, claim, isClaiming: false, hasTimedOut: false, settle, fail, timer };
      this.#waiting.add(waiter);
      this.#stopWatching ??= this.#watch();
      // A timeout and an abort both end the wait without an error.
      const timeOut = (): void => this.#timeOut(waiter);
      void this.#clock.sleep(clampTimeout(wait.waitMs), signal).then(timeOut, timeOut);
      void this.#serve();
    });
  }

  /**
   * Serves pending claims if the queue is not empty. Needed because a process that dies during a claim returns its
   * rollout to the queue without a change notification.
   */
  async poll(isAnythingQueued: () => Promise<boolean>): Promise<void> {
    if (this.#waiting.size > 0 && (await isAnythingQueued())) void this.#serve();
  }

  /** Removes a waiter synchronously: the same pass must not serve it twice. */
  #remove(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    waiter.timer.abort();
    if (this.#waiting.size > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = null;
  }

  #watch(): () => void {
    const unsubscribe = this.#feed.subscribe((changes) => {
      if (changes.some(mayFillQueue)) void this.#serve();
    });
    const stopExternal = this.#watchExternal();
    return () => {
      unsubscribe();
      stopExternal();
    };
  }

  #timeOut(waiter: Waiter): void {
    waiter.hasTimedOut = true;
    // The result of a claim in progress belongs to this waiter.
    if (waiter.isClaiming || !this.#waiting.has(waiter)) return;
    this.#remove(waiter);
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
      if (waiter.hasTimedOut || emptyFor.has(null) || emptyFor.has(waiter.runId)) continue;
      waiter.isClaiming = true;
      try {
        const claimed = await waiter.claim();
        if (claimed.length === 0) emptyFor.add(waiter.runId);
        if (claimed.length === 0 && !waiter.hasTimedOut) continue;
        this.#remove(waiter);
        waiter.settle(claimed);
      } catch (error) {
        this.#remove(waiter);
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

/** Clamps a timeout to the maximum of timers. */
export function clampTimeout(timeMs: number): number {
  return Math.min(timeMs, 2 ** 31 - 1);
}
