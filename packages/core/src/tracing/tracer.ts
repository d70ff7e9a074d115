import type { Attributes, AttributeValue, SpanStatus } from '../spans/span.ts';

/** A step while it is being recorded. */
export interface ActiveSpan {
  /** Id of the trace. */
  readonly traceId: string;
  /** Id of the span. */
  readonly spanId: string;
  /** Sets an attribute. */
  setAttribute(name: string, value: AttributeValue): void;
  /** Sets attributes. */
  setAttributes(attributes: Attributes): void;
  /** Adds an event at the present time. */
  addEvent(name: string, attributes?: Attributes): void;
  /** Sets the outcome. */
  setStatus(status: SpanStatus): void;
  /** Records an error as an `exception` event and sets the status to ERROR. */
  recordException(error: unknown): void;
  /** Ends the step and appends it to the sink; later calls do nothing. */
  end(): void;
}

/** Options of a new span. */
export interface StartSpanOptions {
  /** Attributes at the start. */
  readonly attributes?: Attributes;
  /** @default the active span of the caller */
  readonly parentSpanId?: string | null;
  /** Unix milliseconds. @default now */
  readonly startTimeMs?: number;
  /**
   * Called once, right before the step is recorded, whether its creator or the end of the attempt ends it. The last
   * opportunity to set attributes. It must not throw.
   *
   * @default none
   */
  readonly beforeEnd?: (span: ActiveSpan) => void;
}

/** Records steps in the current rollout; does nothing outside of one. */
export interface Tracer {
  /** Starts a step that the caller must end. */
  startSpan(name: string, options?: StartSpanOptions): ActiveSpan;
  /**
   * Records a function as a step: spans created within it become its children, an error is recorded and rethrown, and
   * the step ends with the function.
   */
  withSpan<TResult>(name: string, run: (span: ActiveSpan) => TResult, options?: StartSpanOptions): TResult;
}
