import type { JsonObject } from './json.ts';

/** A value an attribute may have, as in OpenTelemetry: a primitive or a list of primitives of one kind. */
export type AttributeValue = string | number | boolean | readonly string[] | readonly number[] | readonly boolean[];

/** Attributes by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** How a recorded step ended. */
export interface SpanStatus {
  readonly code: 'UNSET' | 'OK' | 'ERROR';
  /** What went wrong; null unless `ERROR`. */
  readonly message: string | null;
}

/** Something that happened at a moment within a span. */
export interface SpanEvent {
  readonly name: string;
  /** Unix milliseconds. */
  readonly timeMs: number | null;
  readonly attributes: Attributes;
}

/** A reference from one span to another. */
export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
}

/** One recorded step of an attempt: a model call, a tool call, a reward, a message. An OpenTelemetry span. */
export interface Span {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** The order of spans within the rollout, from 1, given by the store: it holds across machines' clocks. */
  readonly sequenceId: number;
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits; unique within the attempt. */
  readonly spanId: string;
  /** The span it is part of; null for a root. */
  readonly parentId: string | null;
  readonly name: string;
  readonly status: SpanStatus;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  /** Unix milliseconds, may have a fraction. */
  readonly startTimeMs: number | null;
  /** Unix milliseconds, may have a fraction. */
  readonly endTimeMs: number | null;
  /** What produced the span: service name and the like. */
  readonly resource: { readonly attributes: Attributes; readonly schemaUrl: string };
  /** What else the span came with over the store protocol, under the names it has there; kept as it is. @default none */
  readonly extra?: JsonObject;
}

/** A span on its way to the store, which gives it the next sequence id when it has none. */
export type SpanInput = Omit<Span, 'sequenceId'> & { readonly sequenceId?: number };
