import type { Span, SpanInput } from '../spans/span.ts';
import type { SpanSink } from '../tracing/rollout-context.ts';
import type { ActiveSpan } from '../tracing/tracer.ts';

/** A span sink in memory that assigns sequence ids like a store. */
export class MemorySpanSink implements SpanSink {
  readonly #spans: Span[] = [];
  readonly #started: ActiveSpan[] = [];

  /** Ended spans, in order. */
  get spans(): readonly Span[] {
    return this.#spans;
  }

  /** Started spans, in order. */
  get started(): readonly ActiveSpan[] {
    return this.#started;
  }

  spanStarted(span: ActiveSpan): void {
    this.#started.push(span);
  }

  append(span: SpanInput): void {
    const before = this.#spans.filter((other) => other.rolloutId === span.rolloutId);
    this.#spans.push({ ...span, sequenceId: span.sequenceId ?? before.length + 1 });
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  /** Spans of one name, in order. */
  named(name: string): readonly Span[] {
    return this.#spans.filter((span) => span.name === name);
  }
}
