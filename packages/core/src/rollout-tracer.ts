import { type Clock, systemClock } from './clock.ts';
import { RecordedSpan, type SpanOrigin } from './recorded-span.ts';
import { currentRollout, type RolloutContext, withRollout } from './rollout-context.ts';
import type { ActiveSpan, StartSpanOptions, Tracer } from './tracer.ts';

/** What a tracer can be given. */
export interface TracerOptions {
  /** Where the times of spans come from. @default systemClock */
  readonly clock?: Clock;
}

/**
 * A tracer that records into whichever rollout is running where it is called.
 *
 * Programs use {@link tracer}; this is for those that need a clock of their own.
 */
export function createTracer(options: TracerOptions = {}): Tracer {
  const clock = options.clock ?? systemClock;
  return {
    startSpan: (name, spanOptions = {}) => {
      const context = currentRollout();
      return context === null ? silentSpan : beginSpan({ name, context, clock }, spanOptions);
    },
    withSpan: (name, run, spanOptions = {}) => {
      const context = currentRollout();
      if (context === null) return run(silentSpan);
      const span = beginSpan({ name, context, clock }, spanOptions);
      return runWithin(span, { context, run });
    },
  };
}

/**
 * Records the steps of whichever rollout is running where it is called. Outside of a rollout it does
 * nothing, so that the same agent runs in production. It never throws into the agent.
 *
 * @example
 * ```ts
 * const answer = await tracer.withSpan('look up', async (span) => {
 *   span.setAttribute('table', 'prices');
 *   return lookUp('prices');
 * });
 * ```
 */
export const tracer: Tracer = createTracer();

/** The span outside of a rollout: it takes everything and keeps nothing. */
export const silentSpan: ActiveSpan = {
  traceId: '0'.repeat(32),
  spanId: '0'.repeat(16),
  setAttribute: () => {},
  setAttributes: () => {},
  addEvent: () => {},
  setStatus: () => {},
  recordException: () => {},
  end: () => {},
};

/** Begins a span of a rollout, wherever it is called. For adapters; everybody else uses {@link tracer}. */
export function beginSpan(origin: SpanOrigin, options: StartSpanOptions): ActiveSpan {
  const span = new RecordedSpan(origin, options);
  try {
    origin.context.sink.spanStarted?.(span);
  } catch {
    // A sink must not throw. Where one does, the span is only not ended for an agent that forgets to.
  }
  return span;
}

interface Step<TResult> {
  readonly context: RolloutContext;
  readonly run: (span: ActiveSpan) => TResult;
}

function runWithin<TResult>(span: ActiveSpan, { context, run }: Step<TResult>): TResult {
  const fail = (error: unknown): never => {
    span.recordException(error);
    span.end();
    throw error;
  };
  let result: TResult;
  try {
    result = withRollout({ ...context, parentSpanId: span.spanId }, () => run(span));
  } catch (error) {
    return fail(error);
  }
  if (!(result instanceof Promise)) {
    span.end();
    return result;
  }
  const settled = result.then((value: unknown) => {
    span.end();
    return value;
  }, fail);
  if (result.constructor === Promise) return settled as TResult;
  // A promise with methods of its own (those of the openai client) is handed back as it is.
  settled.catch(() => {});
  return result;
}
