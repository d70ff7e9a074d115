import type { Attributes, Span } from '@agentlightning/core';
import { genAiAttributes } from '@agentlightning/core/internal';
import { rewardFromSpan, spanNames } from '@agentlightning/core/spans';
import { type HrTime, type SpanContext, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan, TimedEvent } from '@opentelemetry/sdk-trace';
import { type ExportedContent, exportAttributes } from './export-attributes.ts';

const statusCodes = { UNSET: SpanStatusCode.UNSET, OK: SpanStatusCode.OK, ERROR: SpanStatusCode.ERROR };

/** Additions to the spans of a trace. */
export interface ReadableSpanOptions extends ExportedContent {
  /** The resource of spans that have none: `service.name`, `agentlightning.run_id`. */
  readonly resource: Resource;
}

/** Whether the ids of a span are those of OpenTelemetry: lower-case hex digits, of which one is not zero. */
export function hasValidIds({ traceId, spanId }: Span): boolean {
  return /^(?!0+$)[0-9a-f]{32}$/.test(traceId) && /^(?!0+$)[0-9a-f]{16}$/.test(spanId);
}

/** A span of an attempt for OpenTelemetry's serialisers, named after the GenAI conventions, with rewards as evaluations. */
export function toReadableSpan(span: Span, options: ReadableSpanOptions): ReadableSpan {
  const startMs = span.startTimeMs ?? span.endTimeMs ?? 0;
  const endMs = Math.max(startMs, span.endTimeMs ?? startMs);
  const contextOf = (traceId: string, spanId: string): SpanContext => ({
    traceId,
    spanId,
    traceFlags: TraceFlags.SAMPLED,
  });
  const context = contextOf(span.traceId, span.spanId);
  const { code, message } = span.status;
  return {
    name: nameOf(span),
    kind: isModelCall(span) ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => context,
    ...(span.parentId === null ? {} : { parentSpanContext: contextOf(span.traceId, span.parentId) }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    status: { code: statusCodes[code], ...(message === null ? {} : { message }) },
    attributes: plain(exportAttributes(span, options)),
    links: span.links.map((link) => ({
      context: contextOf(link.traceId, link.spanId),
      attributes: plain(link.attributes),
    })),
    events: [...recordedEvents(span, startMs), ...evaluationEvents(span, endMs)],
    duration: hrTime(endMs - startMs),
    ended: true,
    resource: resourceOf(span, options.resource),
    instrumentationScope: { name: '@agentlightning/otel' },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function nameOf({ name, attributes }: Span): string {
  const model = attributes[genAiAttributes.requestModel];
  return name === spanNames.modelCall && model !== undefined ? `chat ${String(model)}` : name;
}

function isModelCall({ attributes }: Span): boolean {
  return attributes[genAiAttributes.requestModel] !== undefined;
}

function recordedEvents({ events }: Span, startMs: number): readonly TimedEvent[] {
  return events.map(({ name, timeMs, attributes }) => ({
    name,
    time: hrTime(timeMs ?? startMs),
    attributes: plain(attributes),
  }));
}

/** The dimensions of a reward, as the GenAI conventions record evaluations. */
function evaluationEvents(span: Span, timeMs: number): readonly TimedEvent[] {
  return (rewardFromSpan(span)?.rewards ?? []).map(({ name, value }) => ({
    name: 'gen_ai.evaluation.result',
    time: hrTime(timeMs),
    attributes: { 'gen_ai.evaluation.name': name, 'gen_ai.evaluation.score.value': value },
  }));
}

/** The same object for all spans without their own: the serialisers group by it. */
function resourceOf({ resource }: Span, common: Resource): Resource {
  if (Object.keys(resource.attributes).length === 0) return common;
  return common.merge(resourceFromAttributes(plain(resource.attributes)));
}

/** OpenTelemetry declares lists as mutable; they are not changed. */
function plain(attributes: Attributes): Record<string, string | number | boolean | string[] | number[] | boolean[]> {
  return attributes as Record<string, string | number | boolean | string[] | number[] | boolean[]>;
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
