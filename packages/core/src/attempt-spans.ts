import type { SpanSink } from './rollout-context.ts';
import type { SpanInput } from './span.ts';
import { agentLightningAttributes } from './span-attributes.ts';
import type { ActiveSpan } from './tracer.ts';

/** What {@link AttemptSpans} can be given. */
export interface AttemptSpansOptions {
  /** Told of every span that came after the attempt had ended, and was dropped. @default nobody is told */
  readonly onLateSpan?: (span: SpanInput) => void;
}

/**
 * The spans of one attempt on their way to a sink: it knows which are open, and when the attempt is over.
 *
 * Closing ends the spans that are still open: they get the attribute `agentlightning.abandoned` and the
 * status ERROR. Spans that come after that are late. They are dropped and reported, because what a finished
 * attempt is judged by must not change, and because a span would bring a given-up attempt back to life.
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

  spanStarted(span: ActiveSpan): void {
    if (!this.#isClosed) this.#open.set(span.spanId, span);
  }

  spanDiscarded(spanId: string): void {
    this.#open.delete(spanId);
  }

  append(span: SpanInput): void {
    this.#open.delete(span.spanId);
    if (this.#isClosed) this.#onLateSpan?.(span);
    else this.#sink.append(span);
  }

  flush(): Promise<void> {
    return this.#sink.flush();
  }

  /**
   * Ends the spans that are still open, the innermost first, and drops those that come from now on.
   *
   * @returns how many spans were still open
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
