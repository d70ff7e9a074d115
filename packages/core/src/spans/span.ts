import type { JsonObject } from '../base/json.ts';

/** An OpenTelemetry attribute value: a primitive or a list of primitives of one type. */
export type AttributeValue = string | number | boolean | readonly string[] | readonly number[] | readonly boolean[];

/** Attributes by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** Completion status of a span. */
export interface SpanStatus {
  /** The outcome. */
  readonly code: 'UNSET' | 'OK' | 'ERROR';
  /** Error message; null unless `ERROR`. */
  readonly message: string | null;
}

/** A timestamped event within a span. */
export interface SpanEvent {
  /** Name of the event. */
  readonly name: string;
  /** Unix milliseconds. */
  readonly timeMs: number | null;
  /** The attributes. */
  readonly attributes: Attributes;
}

/** A reference from one span to another. */
export interface SpanLink {
  /** Trace of the linked span. */
  readonly traceId: string;
  /** The linked span. */
  readonly spanId: string;
  /** The attributes. */
  readonly attributes: Attributes;
}

/** One recorded step of an attempt: a model call, a tool call, a reward, a message. An OpenTelemetry span. */
export interface Span {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** Position among the rollout's spans, from 1, assigned by the store: independent of machine clocks. */
  readonly sequenceId: number;
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits; unique within the attempt. */
  readonly spanId: string;
  /** The parent span; null for a root. */
  readonly parentId: string | null;
  /** Name of the span. */
  readonly name: string;
  /** The outcome. */
  readonly status: SpanStatus;
  /** The attributes. */
  readonly attributes: Attributes;
  /** Events within the span. */
  readonly events: readonly SpanEvent[];
  /** Links to other spans. */
  readonly links: readonly SpanLink[];
  /** Unix milliseconds, may have a fraction. */
  readonly startTimeMs: number | null;
  /** Unix milliseconds, may have a fraction. */
  readonly endTimeMs: number | null;
  /** The source of the span: service name and so on. */
  readonly resource: { readonly attributes: Attributes; readonly schemaUrl: string };
  /** Unknown fields received over the store protocol, under their wire names; preserved unchanged. @default none */
  readonly extra?: JsonObject;
}

/** A span before storage; the store assigns the next sequence id when it is absent. */
export type SpanInput = Omit<Span, 'sequenceId'> & { readonly sequenceId?: number };
