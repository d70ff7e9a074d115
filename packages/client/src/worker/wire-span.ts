import type { Attributes, Span, SpanInput } from '@agentlightning/core';
import {
  listOf,
  numberOf,
  optionalObject,
  optionalText,
  optionalTimeMs,
  recordOf,
  textOf,
  type WireRecord,
} from '../json.ts';

/** A span in the store protocol. */
export function spanToWire(span: SpanInput): WireRecord {
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
    events: span.events.map(({ name, timeMs, attributes }) => ({ name, attributes, timestamp: seconds(timeMs) })),
    links: span.links.map(({ traceId, spanId, attributes }) => ({
      context: { trace_id: traceId, span_id: spanId },
      attributes,
    })),
    start_time: seconds(span.startTimeMs),
    end_time: seconds(span.endTimeMs),
    resource: { attributes: span.resource.attributes, schema_url: span.resource.schemaUrl },
    ...span.extra,
  };
}

/** Reads a span of the store protocol. */
export function spanOf(wire: WireRecord): Span {
  const status = recordOf(wire['status'], 'status');
  const resource = optionalObject(wire, 'resource') ?? {};
  return {
    rolloutId: textOf(wire, 'rollout_id'),
    attemptId: textOf(wire, 'attempt_id'),
    sequenceId: numberOf(wire, 'sequence_id'),
    traceId: textOf(wire, 'trace_id'),
    spanId: textOf(wire, 'span_id'),
    parentId: optionalText(wire, 'parent_id'),
    name: textOf(wire, 'name'),
    status: {
      code: textOf(status, 'status_code') as Span['status']['code'],
      message: optionalText(status, 'description'),
    },
    attributes: attributesOf(wire),
    events: records(wire, 'events').map((event) => ({
      name: textOf(event, 'name'),
      timeMs: optionalTimeMs(event, 'timestamp'),
      attributes: attributesOf(event),
    })),
    links: records(wire, 'links').map((link) => {
      const context = recordOf(link['context'], 'context');
      return {
        traceId: textOf(context, 'trace_id'),
        spanId: textOf(context, 'span_id'),
        attributes: attributesOf(link),
      };
    }),
    startTimeMs: optionalTimeMs(wire, 'start_time'),
    endTimeMs: optionalTimeMs(wire, 'end_time'),
    resource: { attributes: attributesOf(resource), schemaUrl: optionalText(resource, 'schema_url') ?? '' },
  };
}

function records(wire: WireRecord, name: string): readonly WireRecord[] {
  return listOf(wire[name] ?? [], name).map((item) => recordOf(item, name));
}

function attributesOf(wire: WireRecord): Attributes {
  return (optionalObject(wire, 'attributes') ?? {}) as Attributes;
}

function seconds(timeMs: number | null): number | null {
  return timeMs === null ? null : timeMs / 1000;
}
