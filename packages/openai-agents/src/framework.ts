/**
 * The OpenAI Agents SDK, as far as this package touches it: by shape, so that nothing of it is imported, and every copy
 * of it that an application loads will do.
 *
 * @module
 */

/** What a span of the framework is about; which fields there are depends on the type. */
export interface SpanData {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What went wrong in a span of the framework. */
export interface SpanError {
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}

/** A span of the framework. It fills in its data until its end. */
export interface FrameworkSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly spanData: SpanData;
  readonly error: SpanError | null;
  start(): void;
  end(): void;
}

/** A trace of the framework: one run, or several that belong together. */
export interface FrameworkTrace {
  readonly traceId: string;
  readonly name: string;
  readonly groupId: string | null;
  start(): Promise<void>;
  end(): Promise<void>;
}

/** Where the framework gets its traces and spans. There is one in a process, whatever copies of the framework there are. */
export interface TraceProvider {
  createTrace(options: object): FrameworkTrace;
  createSpan(options: object, parent?: object): FrameworkSpan;
  getCurrentSpan(): FrameworkSpan | null;
  getCurrentTrace(): FrameworkTrace | null;
  setDisabled(disabled: boolean): void;
  registerProcessor(processor: unknown): void;
}

/** The id of traces and spans that the framework does not record. */
export const noopId = 'no-op';
