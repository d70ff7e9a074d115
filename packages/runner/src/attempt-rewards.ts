import type { ActiveSpan, AttemptedRollout, SpanInput, SpanSink, Store } from '@agentlightning/core';
import { findFinalReward, rewardFromSpan, spanNames } from '@agentlightning/core/spans';

/** A sink that hands spans on and remembers the last reward among them. */
export class RewardWatch implements SpanSink {
  readonly #sink: SpanSink;
  #lastReward: number | null = null;

  constructor(sink: SpanSink) {
    this.#sink = sink;
  }

  /** The primary value of the last reward; null when there was none. */
  get lastReward(): number | null {
    return this.#lastReward;
  }

  /** Takes a reward that went to the store past this sink. */
  wasRecordedElsewhere(reward: number): void {
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

/** The reward that somebody else recorded for an attempt, such as a program the agent ran; null when nobody did. */
export async function rewardInStore(store: Store, rollout: AttemptedRollout): Promise<number | null> {
  const { rolloutId, attempt } = rollout;
  const query = { rolloutId, attemptId: attempt.attemptId };
  const annotations = await store.querySpans({ ...query, name: spanNames.annotation });
  return findFinalReward(annotations.items)?.rewards[0]?.value ?? null;
}
