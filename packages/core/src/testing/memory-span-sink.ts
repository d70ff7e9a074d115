import type { SpanSink } from '../rollout-context.ts';
import type { Span, SpanInput } from '../span.ts';
import type { ActiveSpan } from '../tracer.ts';

/** A sink that keeps spans in memory, with the sequence ids that a store would give them. */
export class MemorySpanSink implements SpanSink {
  readonly #spans: Span[] = [];
  readonly #started: ActiveSpan[] = [];

  /** The spans that ended, in order. */
  get spans(): readonly Span[] {
    return this.#spans;
  }

  /** The spans that began, in order. */
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

  /** The spans of one name, in order. */
  named(name: string): readonly Span[] {
    return this.#spans.filter((span) => span.name === name);
  }
}
