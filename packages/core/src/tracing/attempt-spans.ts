import type { SpanInput } from '../spans/span.ts';
import { agentLightningAttributes } from '../spans/span-attributes.ts';
import type { SpanSink } from './rollout-context.ts';
import type { ActiveSpan } from './tracer.ts';

/** Options of {@link AttemptSpans}. */
export interface AttemptSpansOptions {
  /** Called for every dropped late span. @default none */
  readonly onLateSpan?: (span: SpanInput) => void;
}

/**
 * Span sink of one attempt. It tracks the open spans and the end of the attempt.
 *
 * Closing ends the open spans with the attribute `agentlightning.abandoned` and the status ERROR. Later spans are
 * dropped and reported: they must not change the outcome of a finished attempt, nor revive an abandoned one.
 *
 * @example
 * ```ts
 * const spans = new AttemptSpans(sink);
 * await withRollout({ ...context, sink: spans }, () => agent(task));
 * spans.close();
 * await spans.flush();
 * ```
 */
export class AttemptSpans implements SpanSink {
  readonly #sink: SpanSink;
  readonly #onLateSpan: ((span: SpanInput) => void) | undefined;
  readonly #open: Map<string, ActiveSpan> = new Map();
  #isClosed = false;

  constructor(sink: SpanSink, options: AttemptSpansOptions = {}) {
    this.#sink = sink;
    this.#onLateSpan = options.onLateSpan;
  }

  /** Records that a span is open. */
  spanStarted(span: ActiveSpan): void {
    if (!this.#isClosed) this.#open.set(span.spanId, span);
  }

  /** Forgets an open span. */
  spanDiscarded(spanId: string): void {
    this.#open.delete(spanId);
  }

  /** Appends a span of the attempt; late ones are dropped. */
  append(span: SpanInput): void {
    this.#open.delete(span.spanId);
    if (this.#isClosed) this.#onLateSpan?.(span);
    else this.#sink.append(span);
  }

  /** Sends what is not yet stored. */
  flush(): Promise<void> {
    return this.#sink.flush();
  }

  /**
   * Ends the open spans, innermost first, and drops all later ones.
   *
   * @returns the number of spans that were open
   */
  close(): number {
    const abandoned = [...this.#open.values()].reverse();
    for (const span of abandoned) {
      span.setAttribute(agentLightningAttributes.abandoned, true);
      span.setStatus({ code: 'ERROR', message: 'The attempt ended before this step did.' });
      span.end();
    }
    this.#isClosed = true;
    return abandoned.length;
  }
}
