import type { Attributes, AttributeValue, SpanStatus } from './span.ts';

/** A step that is being recorded. */
export interface ActiveSpan {
  readonly traceId: string;
  readonly spanId: string;
  setAttribute(name: string, value: AttributeValue): void;
  setAttributes(attributes: Attributes): void;
  addEvent(name: string, attributes?: Attributes): void;
  setStatus(status: SpanStatus): void;
  /** Records an error as an `exception` event and sets the status to ERROR. */
  recordException(error: unknown): void;
  /** Ends the step and hands it to the sink; later calls do nothing. */
  end(): void;
}

/** How to begin a step. */
export interface StartSpanOptions {
  readonly attributes?: Attributes;
  /** @default the span that is active where the call is made */
  readonly parentSpanId?: string | null;
  /** Unix milliseconds. @default now */
  readonly startTimeMs?: number;
  /**
   * Called once, right before the step is recorded, however it ends: by its maker, or by the end of the attempt
   * that it was left open in. The last moment to set attributes. It must not throw.
   *
   * @default nothing
   */
  readonly beforeEnd?: (span: ActiveSpan) => void;
}

/** Records the steps of whichever rollout is running where it is called; does nothing outside of one. */
export interface Tracer {
  /** Begins a step that the caller must end. */
  startSpan(name: string, options?: StartSpanOptions): ActiveSpan;
  /**
   * Records a function as a step: spans made inside become its children, an error is recorded and
   * thrown on, and the step ends when the function has.
   */
  withSpan<TResult>(name: string, run: (span: ActiveSpan) => TResult, options?: StartSpanOptions): TResult;
}
