import type { Span } from '@agentlightning/core';

/** The spans of an attempt as a tree. */
export class SpanTree {
  readonly #bySpanId: ReadonlyMap<string, Span>;

  /** @param spans - the spans of one attempt, in any order */
  constructor(spans: readonly Span[]) {
    this.#bySpanId = new Map(spans.map((span) => [span.spanId, span]));
  }

  /** The span of this id; null when the tree does not have it. */
  get(spanId: string): Span | null {
    return this.#bySpanId.get(spanId) ?? null;
  }

  /** A span and its ancestors, from the inside out. */
  *around(spanId: string): Generator<Span> {
    const seen = new Set<string>();
    for (let span = this.get(spanId); span !== null && !seen.has(span.spanId); span = this.get(span.parentId ?? '')) {
      seen.add(span.spanId);
      yield span;
    }
  }
}
