import type { Clock, Rollout } from '@agentlightning/core';
import { isTerminalRolloutStatus } from '@agentlightning/core/store';
import type { ChangeFeed, StoreChange } from '../../changes/change-feed.ts';
import { clampTimeout } from './claim-queue.ts';

/** Options of a wait for rollouts to finish. */
export interface FinishWait {
  readonly rolloutIds: readonly string[];
  /** Timeout in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Dependencies of a wait. */
export interface FinishWaitSource {
  readonly clock: Clock;
  readonly feed: ChangeFeed;
  readonly watchExternal: () => () => void;
  /** Returns the finished ones of the rollouts. */
  readonly readFinished: (rolloutIds: readonly string[]) => Promise<readonly Rollout[]>;
}

/** Waits until all rollouts are finished, or for the timeout or abort, and returns the finished ones. */
export async function waitForFinish(source: FinishWaitSource, wait: FinishWait): Promise<readonly Rollout[]> {
  const rolloutIds = [...new Set(wait.rolloutIds)];
  const missing = new MissingRollouts();
  const unsubscribe = source.feed.subscribe((changes) => missing.receive(changes));
  const stopExternal = source.watchExternal();
  const over = new AbortController();
  const signal = wait.signal === undefined ? over.signal : AbortSignal.any([over.signal, wait.signal]);
  let isOver = wait.timeoutMs <= 0 || signal.aborted;
  const end = (): void => {
    isOver = true;
    missing.wake();
  };
  if (!isOver) void source.clock.sleep(clampTimeout(wait.timeoutMs), signal).then(end, end);
  try {
    for (;;) {
      missing.startReading();
      // A wait that ends during this read reads once more: rollouts that finished until then belong to its result.
      const isLast = isOver;
      const finished = await source.readFinished(rolloutIds);
      if (finished.length === rolloutIds.length || isLast) return finished;
      await missing.wait(rolloutIds, finished);
    }
  } finally {
    over.abort();
    stopExternal();
    unsubscribe();
  }
}

/** Tracks which rollouts have not been reported as finished, also during reads. */
class MissingRollouts {
  #ended = new Set<string>();
  #isStale = false;
  #resume: (() => void) | null = null;
  #missing: ReadonlySet<string> = new Set();

  startReading(): void {
    this.#ended = new Set();
    this.#isStale = false;
  }

  receive(changes: readonly StoreChange[]): void {
    for (const change of changes) {
      // A deleted rollout ends the wait with an error.
      if (change.kind === 'unknown' || change.kind === 'rollout-deleted') this.#isStale = true;
      else if (change.kind === 'rollout' && isTerminalRolloutStatus(change.status)) this.#ended.add(change.rolloutId);
    }
    if (this.#mustRead()) this.#resume?.();
  }

  wake(): void {
    this.#isStale = true;
    this.#resume?.();
  }

  /** Resolves when another read may return more rollouts. */
  async wait(rolloutIds: readonly string[], finished: readonly Rollout[]): Promise<void> {
    const known = new Set(finished.map((rollout) => rollout.rolloutId));
    this.#missing = new Set(rolloutIds.filter((rolloutId) => !known.has(rolloutId)));
    if (this.#mustRead()) return;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
    });
    this.#resume = null;
  }

  #mustRead(): boolean {
    return this.#isStale || [...this.#missing].every((rolloutId) => this.#ended.has(rolloutId));
  }
}
