import * as z from 'zod';
import type { JsonObject } from '../../base/json.ts';
import { attributesForReaders } from '../../spans/python-logprobs.ts';
import type { Attributes, Span, SpanEvent, SpanInput, SpanLink, SpanStatus } from '../../spans/span.ts';
import { fieldCodec, msFromSeconds, recordCodec, secondsFromMs } from './wire-fields.ts';

/**
 * Maximum explicit sequence id of a span. Far below the largest safe integer, which leaves ids for later spans of the
 * rollout.
 */
export const maxSequenceId: number = 2 ** 48;

const primitives = [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }];

/** Attributes, validated by hand for speed: a span can carry thousands of token ids. */
export const wireAttributesSchema: z.ZodType<Attributes> = z
  .custom<Attributes>(isAttributes, 'must be an object of strings, numbers, booleans, or lists of them')
  .meta({
    type: 'object',
    additionalProperties: { anyOf: [...primitives, { type: 'array', items: { anyOf: primitives } }] },
  });

const wireSpanContext = z.looseObject({
  trace_id: z.string(),
  span_id: z.string(),
  is_remote: z.boolean().optional(),
  trace_state: z.record(z.string(), z.string()).optional(),
});

/** The status codes of a span. */
export const wireSpanStatusSchema: z.ZodType<SpanStatus['code']> = z.enum(['UNSET', 'OK', 'ERROR']);

const wireEvent = z.object({
  name: z.string(),
  attributes: wireAttributesSchema.nullish(),
  timestamp: z.number().nullish(),
});
const wireLink = z.object({ context: wireSpanContext, attributes: wireAttributesSchema.nullish() });

const wireSpan = z.looseObject({
  rollout_id: z.string(),
  attempt_id: z.string(),
  /** Assigned by the store when absent, as an extension; the original protocol requires it. */
  sequence_id: z.int().min(0).max(maxSequenceId).nullish(),
  trace_id: z.string().min(1),
  span_id: z.string().min(1),
  parent_id: z.string().nullish(),
  name: z.string(),
  status: z.object({ status_code: wireSpanStatusSchema, description: z.string().nullish() }),
  attributes: wireAttributesSchema,
  events: z.array(wireEvent),
  links: z.array(wireLink),
  start_time: z.number().nullish(),
  end_time: z.number().nullish(),
  context: wireSpanContext.nullish(),
  parent: wireSpanContext.nullish(),
  resource: z.object({ attributes: wireAttributesSchema, schema_url: z.string() }).optional(),
});

type WireSpan = z.output<typeof wireSpan>;
type WireSpanContext = z.output<typeof wireSpanContext>;

/**
 * A span in the store protocol. Times are Unix seconds; nanoseconds are also accepted. Unknown fields are preserved in
 * `extra`.
 */
export const spanInputCodec: z.ZodType<SpanInput, object> = z.codec(wireSpan, z.custom<SpanInput>(), {
  decode: spanInputFromWire,
  encode: spanToWire,
});

/** A recorded span, exactly as it was recorded. */
export const recordedSpanCodec: z.ZodType<Span, object> = z.codec(wireSpan, z.custom<Span>(), {
  decode: spanFromWire,
  encode: spanToWire,
});

/** A recorded span for readers of a store, with log-probabilities of model calls in the form of the Python readers. */
export const spanCodec: z.ZodType<Span, object> = z.codec(wireSpan, z.custom<Span>(), {
  decode: spanFromWire,
  encode: (span) => ({ ...spanToWire(span), attributes: attributesForReaders(span.attributes) }),
});

/** Spans to record, in one object. */
export const spanBatchCodec: z.ZodType<readonly SpanInput[]> = fieldCodec('spans', z.array(spanInputCodec));

/** The sequence ids of recorded spans, in order; null for an existing span. */
export const recordedSequenceIdsCodec: z.ZodType<readonly (number | null)[]> = fieldCodec(
  'sequence_ids',
  z.array(z.int().nullable()),
);

/** An attempt that needs the next span sequence id of its rollout. */
export interface AttemptReference {
  readonly rolloutId: string;
  readonly attemptId: string;
}

/** Codec of {@link AttemptReference}. */
export const attemptReferenceCodec: z.ZodType<AttemptReference> = recordCodec<AttemptReference>({
  rolloutId: ['rollout_id', z.string()],
  attemptId: ['attempt_id', z.string()],
});

/** Several attempts that need a sequence id, in one object. */
export const sequenceIdBatchCodec: z.ZodType<readonly AttemptReference[]> = fieldCodec(
  'attempts',
  z.array(attemptReferenceCodec),
);

/** The reserved sequence ids, in order. */
export const sequenceIdsCodec: z.ZodType<readonly number[]> = fieldCodec('sequence_ids', z.array(z.int()));

/** One reserved sequence id. */
export const sequenceIdCodec: z.ZodType<number> = fieldCodec('sequence_id', z.int());

function spanInputFromWire(wire: WireSpan): SpanInput {
  return {
    rolloutId: wire.rollout_id,
    attemptId: wire.attempt_id,
    ...(wire.sequence_id === null || wire.sequence_id === undefined ? {} : { sequenceId: wire.sequence_id }),
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

function spanFromWire(wire: WireSpan): Span {
  return { ...spanInputFromWire(wire), sequenceId: wire.sequence_id ?? 0 };
}

function spanToWire(span: SpanInput): WireSpan {
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
      timestamp: spanTimeToWire(event.timeMs),
    })),
    links: span.links.map((link) => ({
      context: contextOf(link.traceId, link.spanId),
      // Null as in the Python OpenTelemetry spans.
      attributes: Object.keys(link.attributes).length === 0 ? null : link.attributes,
    })),
    start_time: spanTimeToWire(span.startTimeMs),
    end_time: spanTimeToWire(span.endTimeMs),
    context: contextOf(span.traceId, span.spanId),
    parent: span.parentId === null ? null : contextOf(span.traceId, span.parentId),
    resource: { attributes: span.resource.attributes, schema_url: span.resource.schemaUrl },
    ...span.extra,
  };
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
    const value: unknown = wire[name];
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

function eventFromWire(event: z.output<typeof wireEvent>): SpanEvent {
  return { name: event.name, timeMs: spanTimeFromWire(event.timestamp), attributes: event.attributes ?? {} };
}

function linkFromWire(link: z.output<typeof wireLink>): SpanLink {
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

function spanTimeToWire(timeMs: number | null): number | null {
  return timeMs === null ? null : secondsFromMs(timeMs);
}

/** Whether a value is an object of strings, numbers, booleans, and lists of them. JSON has no undefined values. */
function isAttributes(value: unknown): value is Attributes {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  for (const entry of Object.values(value)) {
    if (entry !== undefined && !isPrimitive(entry) && !(Array.isArray(entry) && entry.every(isPrimitive))) return false;
  }
  return true;
}

function isPrimitive(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
