import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import { attributesForReaders } from '../spans/python-logprobs.ts';
import type { Attributes, Span, SpanEvent, SpanInput, SpanLink, SpanStatus } from '../spans/span.ts';
import { isAttributes } from './is-attributes.ts';
import { maxSequenceId } from './max-sequence-id.ts';
import { msFromSeconds, secondsFromMsOrNull } from './wire-time.ts';

/** Ids of a span in the store protocol. */
export interface WireSpanContext {
  readonly trace_id: string;
  readonly span_id: string;
  readonly is_remote?: boolean | undefined;
  readonly trace_state?: Readonly<Record<string, string>> | undefined;
}

/** A span in the store protocol. Times are Unix seconds; nanoseconds are also accepted. */
export interface WireSpan {
  readonly rollout_id: string;
  readonly attempt_id: string;
  /** Assigned by the store when absent, as an extension; the original protocol requires it. */
  readonly sequence_id?: number | null | undefined;
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id?: string | null | undefined;
  readonly name: string;
  readonly status: { readonly status_code: SpanStatus['code']; readonly description?: string | null | undefined };
  readonly attributes: Attributes;
  readonly events: readonly {
    readonly name: string;
    readonly attributes?: Attributes | null | undefined;
    readonly timestamp?: number | null | undefined;
  }[];
  readonly links: readonly { readonly context: WireSpanContext; readonly attributes?: Attributes | null | undefined }[];
  readonly start_time?: number | null | undefined;
  readonly end_time?: number | null | undefined;
  readonly context?: WireSpanContext | null | undefined;
  readonly parent?: WireSpanContext | null | undefined;
  readonly resource?: { readonly attributes: Attributes; readonly schema_url: string } | undefined;
}

const primitives = [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }];

/** Attributes, validated by hand for speed: a span can carry thousands of token ids. */
export const wireAttributesSchema: z.ZodType<Attributes> = z
  .custom<Attributes>(isAttributes, 'must be an object of strings, numbers, booleans, or lists of them')
  .meta({
    type: 'object',
    additionalProperties: { anyOf: [...primitives, { type: 'array', items: { anyOf: primitives } }] },
  });

const wireSpanContextSchema = z.looseObject({
  trace_id: z.string(),
  span_id: z.string(),
  is_remote: z.boolean().optional(),
  trace_state: z.record(z.string(), z.string()).optional(),
});

/** Schema of {@link WireSpan}. Unknown fields are preserved. */
export const wireSpanSchema: z.ZodType<WireSpan> = z.looseObject({
  rollout_id: z.string(),
  attempt_id: z.string(),
  sequence_id: z.int().min(0).max(maxSequenceId).nullish(),
  trace_id: z.string().min(1),
  span_id: z.string().min(1),
  parent_id: z.string().nullish(),
  name: z.string(),
  status: z.object({ status_code: z.enum(['UNSET', 'OK', 'ERROR']), description: z.string().nullish() }),
  attributes: wireAttributesSchema,
  events: z.array(
    z.object({ name: z.string(), attributes: wireAttributesSchema.nullish(), timestamp: z.number().nullish() }),
  ),
  links: z.array(z.object({ context: wireSpanContextSchema, attributes: wireAttributesSchema.nullish() })),
  start_time: z.number().nullish(),
  end_time: z.number().nullish(),
  context: wireSpanContextSchema.nullish(),
  parent: wireSpanContextSchema.nullish(),
  resource: z.object({ attributes: wireAttributesSchema, schema_url: z.string() }).optional(),
});

/** Request to record several spans. */
export const wireSpanBatchSchema: z.ZodType<{ readonly spans: readonly WireSpan[] }> = z.object({
  spans: z.array(wireSpanSchema),
});

/** Decodes a span to record. */
export function spanInputFromWire(wire: WireSpan): SpanInput {
  return {
    rolloutId: wire.rollout_id,
    attemptId: wire.attempt_id,
    // Some clients send 0 for an absent id; ids start at 1.
    ...(wire.sequence_id ? { sequenceId: wire.sequence_id } : {}),
    traceId: wire.trace_id,
    spanId: wire.span_id,
    parentId: wire.parent_id ?? null,
    name: wire.name,
    status: { code: wire.status.status_code, message: wire.status.description ?? null },
    attributes: wire.attributes,
    events: wire.events.map(eventFromWire),
    links: wire.links.map(linkFromWire),
    startTimeMs: spanTimeFromWire(wire.start_time),
    endTimeMs: spanTimeFromWire(wire.end_time),
    resource: { attributes: wire.resource?.attributes ?? {}, schemaUrl: wire.resource?.schema_url ?? '' },
    ...extraFromWire(wire),
  };
}

/** Decodes a recorded span. */
export function spanFromWire(wire: WireSpan): Span {
  return { ...spanInputFromWire(wire), sequenceId: wire.sequence_id ?? 0 };
}

/** Encodes a span. */
export function spanToWire(span: SpanInput): WireSpan {
  return {
    rollout_id: span.rolloutId,
    attempt_id: span.attemptId,
    sequence_id: span.sequenceId,
    trace_id: span.traceId,
    span_id: span.spanId,
    parent_id: span.parentId,
    name: span.name,
    status: { status_code: span.status.code, description: span.status.message },
    attributes: span.attributes,
    events: span.events.map((event) => ({
      name: event.name,
      attributes: event.attributes,
      timestamp: secondsFromMsOrNull(event.timeMs),
    })),
    links: span.links.map((link) => ({
      context: contextOf(link.traceId, link.spanId),
      // Null as in the Python OpenTelemetry spans.
      attributes: Object.keys(link.attributes).length === 0 ? null : link.attributes,
    })),
    start_time: secondsFromMsOrNull(span.startTimeMs),
    end_time: secondsFromMsOrNull(span.endTimeMs),
    context: contextOf(span.traceId, span.spanId),
    parent: span.parentId === null ? null : contextOf(span.traceId, span.parentId),
    resource: { attributes: span.resource.attributes, schema_url: span.resource.schemaUrl },
    ...span.extra,
  };
}

/**
 * Encodes a span for readers of a store, with the log-probabilities of a model call in the form of the Python readers.
 */
export function spanToReaders(span: SpanInput): WireSpan {
  return { ...spanToWire(span), attributes: attributesForReaders(span.attributes) };
}

const spanFields = new Set([
  'rollout_id',
  'attempt_id',
  'sequence_id',
  'trace_id',
  'span_id',
  'parent_id',
  'name',
  'status',
  'attributes',
  'events',
  'links',
  'start_time',
  'end_time',
  'resource',
]);

/** Fields without an equivalent in `Span`: unknown ones, and contexts with more than ids. */
function extraFromWire(wire: WireSpan): { readonly extra?: JsonObject } | null {
  const extra: [string, unknown][] = [];
  // A loop without allocation: most spans have no extra fields.
  for (const name in wire) {
    if (spanFields.has(name) || !Object.hasOwn(wire, name)) continue;
    const value: unknown = wire[name as keyof WireSpan];
    const isExtra =
      name === 'context'
        ? hasMoreThanIds(wire.context, wire.trace_id, wire.span_id)
        : name === 'parent'
          ? hasMoreThanIds(wire.parent, wire.trace_id, wire.parent_id)
          : value !== undefined;
    if (isExtra) extra.push([name, value]);
  }
  // Already validated as JSON by the parser.
  return extra.length === 0 ? null : { extra: Object.fromEntries(extra) as JsonObject };
}

function hasMoreThanIds(
  context: WireSpanContext | null | undefined,
  traceId: string,
  spanId: string | null | undefined,
): boolean {
  if (context === null || context === undefined) return false;
  const { trace_id, span_id, is_remote = false, trace_state = {}, ...more } = context;
  const isPlain = trace_id === traceId && span_id === spanId && !is_remote && Object.keys(trace_state).length === 0;
  return !isPlain || Object.keys(more).length > 0;
}

function eventFromWire(event: WireSpan['events'][number]): SpanEvent {
  return { name: event.name, timeMs: spanTimeFromWire(event.timestamp), attributes: event.attributes ?? {} };
}

function linkFromWire(link: WireSpan['links'][number]): SpanLink {
  return { traceId: link.context.trace_id, spanId: link.context.span_id, attributes: link.attributes ?? {} };
}

function contextOf(traceId: string, spanId: string): WireSpanContext {
  return { trace_id: traceId, span_id: spanId, is_remote: false, trace_state: {} };
}

/** Converts a span time to milliseconds. Values beyond any plausible Unix seconds are OpenTelemetry nanoseconds. */
function spanTimeFromWire(time: number | null | undefined): number | null {
  if (time === null || time === undefined) return null;
  return msFromSeconds(time > 1e12 ? time / 1e9 : time);
}
