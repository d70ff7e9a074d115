import type { ActiveSpan, SpanInput, SpanSink } from '@agentlightning/core';
import { findFinalReward, rewardFromSpan, spanNames } from '@agentlightning/core/spans';
import type { AttemptedRollout } from '@agentlightning/core/store';
import type { RunnerStore } from './runner-store.ts';

/** A sink that forwards spans and stores the value of the last reward. */
export class RewardTracker implements SpanSink {
  readonly #sink: SpanSink;
  #lastReward: number | null = null;

  constructor(sink: SpanSink) {
    this.#sink = sink;
  }

  /** The primary value of the last reward; null without a reward. */
  get lastReward(): number | null {
    return this.#lastReward;
  }

  /** Stores a reward that did not pass through this sink. */
  setRecordedReward(reward: number): void {
    this.#lastReward = reward;
  }

  spanStarted(span: ActiveSpan): void {
    this.#sink.spanStarted?.(span);
  }

  spanDiscarded(spanId: string): void {
    this.#sink.spanDiscarded?.(spanId);
  }

  append(span: SpanInput): void {
    const reward = rewardFromSpan({ ...span, sequenceId: span.sequenceId ?? 0 });
    this.#lastReward = reward?.rewards[0]?.value ?? this.#lastReward;
    this.#sink.append(span);
  }

  flush(): Promise<void> {
    return this.#sink.flush();
  }
}

/** The reward that another process recorded for an attempt, such as a program started by the agent; null without one. */
export async function rewardInStore(store: RunnerStore, rollout: AttemptedRollout): Promise<number | null> {
  const { rolloutId, attempt } = rollout;
  const query = { rolloutId, attemptId: attempt.attemptId };
  const annotations = await store.querySpans({ ...query, name: spanNames.annotation });
  return findFinalReward(annotations.items)?.rewards[0]?.value ?? null;
}
