import {
  type ActiveSpan,
  AgentLightningError,
  currentRollout,
  type Span,
  type SpanInput,
  type SpanSink,
  tracer,
  withRollout,
} from '@agentlightning/core';
import { warnOnce } from '@agentlightning/core/internal';
import { AttemptSpans, spanNames } from '@agentlightning/core/spans';
import { newId, newTraceId } from '@agentlightning/core/store';

/** The trace of one call in production. */
export interface SampledTrace {
  /** A new id; in no store. */
  readonly rolloutId: string;
  /** In the order of their ends. */
  readonly spans: readonly Span[];
  /** The error of the call; null when it succeeded. */
  readonly error: unknown;
}

/** Options of {@link sampleTraces}. */
export interface SampleTracesOptions<TArguments extends readonly unknown[]> {
  /** Fraction of the calls that are recorded, from 0 to 1. @default 0: none */
  readonly sampleRate?: number;
  /** Whether a sampled call is recorded, from its arguments. @default all */
  readonly shouldRecord?: (...args: TArguments) => boolean;
  /**
   * Receives the trace of a recorded call when the call and all its steps have ended, such as the stream of its response. The
   * call does not wait for it, and its errors are emitted as one process warning.
   */
  readonly onTrace: (trace: SampledTrace) => void | Promise<void>;
  /** Time after the call at which steps that are still open are abandoned, in milliseconds. @default 300000 (5 minutes) */
  readonly maxOpenMs?: number;
  /** Random numbers from 0 to 1, for sampling. @default Math.random */
  readonly random?: () => number;
}

/**
 * Wraps an agent or a request handler for production: a fraction of its calls is recorded. Model calls are sent unchanged; the
 * adapters record them without tokens. Calls that are not sampled, and calls within a rollout, are only forwarded.
 *
 * @throws AgentLightningError CONFIG when the sample rate is not between 0 and 1
 *
 * @example
 * ```ts
 * const exporter = new TraceExporter({ target: traceTarget('otlp', process.env) });
 * const answer = sampleTraces(agent, {
 *   sampleRate: 0.05,
 *   shouldRecord: (request) => !request.isConfidential,
 *   onTrace: ({ spans }) => exporter.export(spans),
 * });
 * ```
 */
export function sampleTraces<TArguments extends readonly unknown[], TResult>(
  run: (...args: TArguments) => TResult,
  options: SampleTracesOptions<TArguments>,
): (...args: TArguments) => TResult {
  const { sampleRate = 0, shouldRecord = () => true, random = Math.random } = options;
  if (!(sampleRate >= 0 && sampleRate <= 1)) {
    const remedy = 'Pass a fraction of the calls from 0 to 1.';
    throw new AgentLightningError({ code: 'CONFIG', message: `Invalid sampleRate: ${sampleRate}`, remedy });
  }
  return (...args) => {
    const isRecorded = currentRollout() === null && random() < sampleRate && shouldRecord(...args);
    return isRecorded ? recorded(() => run(...args), options) : run(...args);
  };
}

function recorded<TResult>(run: () => TResult, options: ReportOptions): TResult {
  const call = new RecordedCall(options);
  const context = {
    rolloutId: call.rolloutId,
    attemptId: newId('attempt'),
    mode: null,
    traceId: newTraceId(),
    parentSpanId: null,
    agentName: null,
    endpoint: null,
    signal: new AbortController().signal,
    sink: call,
  };
  try {
    const result = withRollout(context, () => tracer.withSpan(spanNames.rollout, run));
    if (result instanceof Promise)
      result.then(
        () => call.settle(null),
        (error: unknown) => call.settle(error),
      );
    else call.settle(null);
    return result;
  } catch (error) {
    call.settle(error);
    throw error;
  }
}

type ReportOptions = Pick<SampleTracesOptions<never>, 'onTrace' | 'maxOpenMs'>;

/** The span sink of one call, which reports the trace when the call and all its steps have ended. */
class RecordedCall implements SpanSink {
  readonly rolloutId: string = newId('rollout');
  readonly #options: ReportOptions;
  readonly #spans: Span[] = [];
  readonly #open: Set<string> = new Set();
  readonly #attempt: AttemptSpans;
  #settled: { readonly error: unknown } | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReported = false;

  constructor(options: ReportOptions) {
    this.#options = options;
    this.#attempt = new AttemptSpans({
      append: (span) => void this.#spans.push({ ...span, sequenceId: span.sequenceId ?? this.#spans.length + 1 }),
      flush: () => Promise.resolve(),
    });
  }

  spanStarted(span: ActiveSpan): void {
    this.#open.add(span.spanId);
    this.#attempt.spanStarted(span);
  }

  spanDiscarded(spanId: string): void {
    this.#attempt.spanDiscarded(spanId);
    this.#ended(spanId);
  }

  append(span: SpanInput): void {
    this.#attempt.append(span);
    this.#ended(span.spanId);
  }

  flush(): Promise<void> {
    return this.#attempt.flush();
  }

  /** The call has ended; a stream of its response may be open. */
  settle(error: unknown): void {
    this.#settled = { error };
    if (this.#open.size === 0) {
      this.#report(error);
      return;
    }
    this.#timer = setTimeout(() => this.#report(error), this.#options.maxOpenMs ?? 300_000);
    this.#timer.unref?.();
  }

  #ended(spanId: string): void {
    if (this.#open.delete(spanId) && this.#open.size === 0 && this.#settled !== null) this.#report(this.#settled.error);
  }

  #report(error: unknown): void {
    if (this.#isReported) return;
    this.#isReported = true;
    clearTimeout(this.#timer);
    this.#attempt.close();
    const trace = { rolloutId: this.rolloutId, spans: this.#spans, error };
    Promise.resolve()
      .then(() => this.#options.onTrace(trace))
      .catch((failure: unknown) => warnOnce('Reporting a trace failed', failure));
  }
}
