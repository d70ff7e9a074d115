/**
 * The parts of the OpenAI Agents SDK that this package uses, as structural types. Nothing is imported, so that every copy
 * of the framework that an application loads is supported.
 *
 * @module
 */

/** The data of a framework span; the fields depend on the type. */
export interface SpanData {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The error of a framework span. */
export interface SpanError {
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}

/** A span of the framework. Its data is complete when it ends. */
export interface FrameworkSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly spanData: SpanData;
  readonly error: SpanError | null;
  start(): void;
  end(): void;
}

/** A trace of the framework: one run, or several related runs. */
export interface FrameworkTrace {
  readonly traceId: string;
  readonly name: string;
  readonly groupId: string | null;
  start(): Promise<void>;
  end(): Promise<void>;
}

/** The framework's factory of traces and spans. All copies of the framework in a process share one. */
export interface TraceProvider {
  createTrace(options: object): FrameworkTrace;
  createSpan(options: object, parent?: object): FrameworkSpan;
  getCurrentSpan(): FrameworkSpan | null;
  getCurrentTrace(): FrameworkTrace | null;
  setDisabled(disabled: boolean): void;
  registerProcessor(processor: unknown): void;
}

/** The id of unrecorded traces and spans. */
export const noopId = 'no-op';
