import type { ActiveSpan, SpanInput, SpanSink } from '@agentlightning/core';
import { rewardFromSpan } from '@agentlightning/core/spans';

/** A sink that forwards all spans except rewards, for agents whose rewards come from an evaluator. */
export class RewardlessSink implements SpanSink {
  readonly #sink: SpanSink;
  readonly #onReward: (span: SpanInput) => void;

  constructor(sink: SpanSink, onReward: (span: SpanInput) => void) {
    this.#sink = sink;
    this.#onReward = onReward;
  }

  spanStarted(span: ActiveSpan): void {
    this.#sink.spanStarted?.(span);
  }

  spanDiscarded(spanId: string): void {
    this.#sink.spanDiscarded?.(spanId);
  }

  append(span: SpanInput): void {
    if (rewardFromSpan({ ...span, sequenceId: span.sequenceId ?? 0 }) === null) {
      this.#sink.append(span);
      return;
    }
    // The reward's span has started: it must not be ended as abandoned.
    this.#sink.spanDiscarded?.(span.spanId);
    this.#onReward(span);
  }

  flush(): Promise<void> {
    return this.#sink.flush();
  }
}
