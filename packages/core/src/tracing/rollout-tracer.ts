import { type Clock, systemClock } from '../base/clock.ts';
import { RecordedSpan, type SpanOrigin } from './recorded-span.ts';
import { currentRollout, type RolloutContext, withRollout } from './rollout-context.ts';
import type { ActiveSpan, StartSpanOptions, Tracer } from './tracer.ts';

/** Options of {@link createTracer}. */
export interface TracerOptions {
  /** Clock of span times. @default systemClock */
  readonly clock?: Clock;
}

/**
 * Creates a tracer that records into the current rollout.
 *
 * Programs use {@link tracer}; this is for a custom clock.
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
 * Records steps in the current rollout. Outside of a rollout it does nothing, so that the same agent runs in
 * production. It never throws into the agent.
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

/** The no-op span used outside of a rollout. */
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

/** Starts a span of the given rollout. For adapters; otherwise use {@link tracer}. */
export function beginSpan(origin: SpanOrigin, options: StartSpanOptions): ActiveSpan {
  const span = new RecordedSpan(origin, options);
  try {
    origin.context.sink.spanStarted?.(span);
  } catch {
    // Errors of the sink must not reach the agent; the span is then not ended automatically with the attempt.
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
  // A promise subclass (such as that of the openai client) is returned unchanged.
  settled.catch(() => {});
  return result;
}
