import {
  type ActiveSpan,
  AgentLightningError,
  type Attributes,
  currentRollout,
  type JsonValue,
  type Span,
  type SpanInput,
  type SpanSink,
  tracer,
  withRollout,
} from '@agentlightning/core';
import { warnOnce } from '@agentlightning/core/internal';
import { AttemptSpans, agentLightningAttributes, productionAttributes, spanNames } from '@agentlightning/core/spans';
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

/** What an application knows of a call. */
export interface CallDetails {
  /** The input of the agent: the task, when the call becomes one. @default the last message of the user in the first model call */
  readonly input?: JsonValue;
  /** The user, such as a hash of an id: data sets are split by it. */
  readonly user?: string;
  /** The conversation that the call continues: data sets are split by it. */
  readonly conversation?: string;
  /** The version of the agent that serves the call, such as `run-1a2b@30`. */
  readonly version?: string;
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
  /** What the application knows of a recorded call. @default nothing */
  readonly details?: (...args: TArguments) => CallDetails;
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
 * const answer = sampleTraces(agent, {
 *   sampleRate: 0.05,
 *   shouldRecord: (request) => !request.isConfidential,
 *   details: ({ question, userId }) => ({ input: question, user: userId }),
 *   onTrace: sendToStore({ deployment: 'support-agent', url: 'https://store.example', apiKey }),
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
    if (!isRecorded) return run(...args);
    return recorded(
      () => run(...args),
      options,
      detailAttributes(() => options.details?.(...args) ?? {}),
    );
  };
}

/** A trace that is being recorded. */
export interface CurrentTrace {
  /** The id of the rollout: what feedback on the call refers to. */
  readonly id: string;
}

/**
 * The trace of the running call; null where it is not recorded. An application keeps its id for later feedback.
 *
 * @example
 * ```ts
 * response.setHeader('x-trace-id', currentTrace()?.id ?? '');
 * ```
 */
export function currentTrace(): CurrentTrace | null {
  const rollout = currentRollout();
  return rollout === null ? null : { id: rollout.rolloutId };
}

/** The details of a call as attributes of its root span. An error while they are read is not the caller's. */
function detailAttributes(read: () => CallDetails): Attributes {
  try {
    const { input, user, conversation, version } = read();
    const given: Readonly<Record<string, string | undefined>> = {
      [agentLightningAttributes.operationInput]: input === undefined ? undefined : JSON.stringify(input),
      [productionAttributes.user]: user,
      [productionAttributes.conversation]: conversation,
      [productionAttributes.version]: version,
    };
    return Object.fromEntries(
      Object.entries(given).flatMap(([name, value]): [string, string][] =>
        value === undefined ? [] : [[name, value]],
      ),
    );
  } catch (error) {
    warnOnce('Reading the details of a call failed', error);
    return {};
  }
}

function recorded<TResult>(run: () => TResult, options: ReportOptions, attributes: Attributes): TResult {
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
    const result = withRollout(context, () => tracer.withSpan(spanNames.rollout, run, { attributes }));
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
