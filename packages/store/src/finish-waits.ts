import type { Clock, Rollout } from '@agentlightning/core';
import { isTerminalRolloutStatus } from '@agentlightning/core/store';
import { longest } from './claim-line.ts';
import type { ChangeFeed, StoreChange } from './store-change.ts';

/** How somebody waits for rollouts to end. */
export interface FinishWait {
  readonly rolloutIds: readonly string[];
  /** At most this long, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** What a wait needs of the store. */
export interface FinishWaitSource {
  readonly clock: Clock;
  readonly feed: ChangeFeed;
  readonly watchOutside: () => () => void;
  /** Reads those of the rollouts that are finished. */
  readonly readFinished: (rolloutIds: readonly string[]) => Promise<readonly Rollout[]>;
}

/** Waits until all of the rollouts are finished, or the wait is over, and reads those that are. */
export async function waitForFinish(source: FinishWaitSource, wait: FinishWait): Promise<readonly Rollout[]> {
  const rolloutIds = [...new Set(wait.rolloutIds)];
  const missing = new MissingRollouts();
  const unsubscribe = source.feed.subscribe((changes) => missing.hear(changes));
  const stopOutside = source.watchOutside();
  const over = new AbortController();
  const signal = wait.signal === undefined ? over.signal : AbortSignal.any([over.signal, wait.signal]);
  let isOver = wait.timeoutMs <= 0 || signal.aborted;
  const end = (): void => {
    isOver = true;
    missing.wake();
  };
  if (!isOver) void source.clock.sleep(longest(wait.timeoutMs), signal).then(end, end);
  try {
    for (;;) {
      missing.startReading();
      // A wait that ends during this reading reads once more: what ended until then belongs to its answer.
      const isLast = isOver;
      const finished = await source.readFinished(rolloutIds);
      if (finished.length === rolloutIds.length || isLast) return finished;
      await missing.wait(rolloutIds, finished);
    }
  } finally {
    over.abort();
    stopOutside();
    unsubscribe();
  }
}

/** Keeps account of which rollouts have not been heard of as finished, also while they are being read. */
class MissingRollouts {
  #ended = new Set<string>();
  #isStale = false;
  #resume: (() => void) | null = null;
  #missing: ReadonlySet<string> = new Set();

  startReading(): void {
    this.#ended = new Set();
    this.#isStale = false;
  }

  hear(changes: readonly StoreChange[]): void {
    for (const change of changes) {
      // A rollout that is gone ends the wait too, with the error that says so.
      if (change.kind === 'unknown' || change.kind === 'rollout-deleted') this.#isStale = true;
      else if (change.kind === 'rollout' && isTerminalRolloutStatus(change.status)) this.#ended.add(change.rolloutId);
    }
    if (this.#isWorthReading()) this.#resume?.();
  }

  wake(): void {
    this.#isStale = true;
    this.#resume?.();
  }

  /** Resolves when reading again may give more than was read. */
  async wait(rolloutIds: readonly string[], finished: readonly Rollout[]): Promise<void> {
    const known = new Set(finished.map((rollout) => rollout.rolloutId));
    this.#missing = new Set(rolloutIds.filter((rolloutId) => !known.has(rolloutId)));
    if (this.#isWorthReading()) return;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
    });
    this.#resume = null;
  }

  #isWorthReading(): boolean {
    return this.#isStale || [...this.#missing].every((rolloutId) => this.#ended.has(rolloutId));
  }
}
