import type { Attributes, AttributeValue, JsonValue, SpanInput } from '@agentlightning/core';
import { assertRewardsInRange, errorMessage, textOf, toAttributeValue } from '@agentlightning/core/internal';
import { maxSequenceId } from '@agentlightning/core/protocol';
import { agentLightningAttributes, productionAttributes } from '@agentlightning/core/spans';
import type { AnyValue, KeyValue } from '../../gen/agentlightning/otlp/v1/traces_pb.ts';
import {
  type ExportTraceServiceRequest,
  type Span as OtlpSpan,
  StatusCode,
} from '../../gen/agentlightning/otlp/v1/traces_pb.ts';

/** The content of an OTLP request. */
export interface OtlpSpans {
  readonly spans: readonly SpanInput[];
  /** The deployment of each of the spans of production. */
  readonly deployments: ReadonlyMap<SpanInput, string>;
  /** The reasons of omitted spans, one per span. */
  readonly leftOut: readonly string[];
}

/** The attributes of a span, or of its resource, that assign it to an attempt. */
const { rolloutId: rolloutIdName, attemptId: attemptIdName, spanSequenceId: sequenceIdName } = agentLightningAttributes;

/** What spans without assignment attributes belong to. */
export interface SpanAssignment {
  /** The attempt of the sender's token; null for other senders. */
  readonly attempt: Pick<SpanInput, 'rolloutId' | 'attemptId'> | null;
  /** The deployment that the request names; null without one. */
  readonly deployment: string | null;
}

/**
 * Converts the spans of an OTLP request. Spans without rollout, attempt or id, or with an invalid reward, are omitted.
 */
export function spansFromOtlp(request: ExportTraceServiceRequest, fallback: SpanAssignment): OtlpSpans {
  const spans: SpanInput[] = [];
  const leftOut: string[] = [];
  const deployments = new Map<SpanInput, string>();
  for (const { resource: producer, schemaUrl, scopeSpans } of request.resourceSpans) {
    const resource = { attributes: attributesFromOtlp(producer?.attributes ?? []), schemaUrl };
    for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
      const deployment = deploymentOf(resource.attributes, fallback);
      const input = spanFromOtlp(span, { resource, fallback: { ...fallback, deployment } });
      const problem = typeof input === 'string' ? input : rewardProblem(input);
      if (problem !== null) leftOut.push(problem);
      else if (typeof input !== 'string') {
        spans.push(input);
        if (deployment !== null) deployments.set(input, deployment);
      }
    }
  }
  return { spans, leftOut, deployments };
}

/** The deployment of a producer; null for one of the attempts of runs. */
function deploymentOf(resource: Attributes, { attempt, deployment }: SpanAssignment): string | null {
  if (attempt !== null) return null;
  return textOf(resource[productionAttributes.deployment]) ?? deployment;
}

/** The reason to reject the reward of a span; null when it is in range or absent. */
function rewardProblem(span: SpanInput): string | null {
  try {
    assertRewardsInRange(span);
    return null;
  } catch (error) {
    return `Span ${span.name}: ${errorMessage(error)}`;
  }
}

/** The context of a span. */
interface SpanSurroundings {
  readonly resource: SpanInput['resource'];
  readonly fallback: SpanAssignment;
}

function spanFromOtlp(span: OtlpSpan, { resource, fallback }: SpanSurroundings): SpanInput | string {
  const attributes = attributesFromOtlp(span.attributes);
  const placed = (name: string): AttributeValue | undefined => attributes[name] ?? resource.attributes[name];
  const ids = fallback.attempt ?? (fallback.deployment === null ? null : idsOfTrace(hexOf(span.traceId)));
  const rolloutId = placed(rolloutIdName) ?? ids?.rolloutId;
  const attemptId = placed(attemptIdName) ?? ids?.attemptId;
  const sequenceId = Number(placed(sequenceIdName) ?? 0);
  if (rolloutId === undefined || attemptId === undefined) {
    const missing = rolloutId === undefined ? rolloutIdName : attemptIdName;
    return `Span ${span.name} has no attribute ${missing}, and neither has its resource`;
  }
  if (span.spanId.every((byte) => byte === 0)) return `Span ${span.name} has no span id`;
  return {
    rolloutId: String(rolloutId),
    attemptId: String(attemptId),
    ...(Number.isInteger(sequenceId) && sequenceId > 0 && sequenceId <= maxSequenceId ? { sequenceId } : {}),
    traceId: hexOf(span.traceId).padStart(32, '0'),
    spanId: spanIdOf(span.spanId),
    parentId: span.parentSpanId.length === 0 ? null : spanIdOf(span.parentSpanId),
    name: span.name,
    ...detailsOf(span, attributes),
    resource,
  };
}

/** The rollout and the attempt of a trace of production: the application knows the id of its trace. */
function idsOfTrace(traceId: string): Pick<SpanInput, 'rolloutId' | 'attemptId'> {
  return { rolloutId: traceId.padStart(32, '0'), attemptId: `at-${traceId.slice(0, 8)}` };
}

type SpanDetails = Pick<SpanInput, 'status' | 'attributes' | 'events' | 'links' | 'startTimeMs' | 'endTimeMs'>;

function detailsOf(span: OtlpSpan, attributes: Attributes): SpanDetails {
  return {
    status: { code: statusCodeOf(span.status?.code), message: span.status?.message || null },
    attributes,
    events: span.events.map((event) => ({
      name: event.name,
      timeMs: msFromNanos(event.timeUnixNano),
      attributes: attributesFromOtlp(event.attributes),
    })),
    links: span.links.map((link) => ({
      traceId: hexOf(link.traceId).padStart(32, '0'),
      spanId: spanIdOf(link.spanId),
      attributes: attributesFromOtlp(link.attributes),
    })),
    startTimeMs: msFromNanos(span.startTimeUnixNano),
    endTimeMs: msFromNanos(span.endTimeUnixNano),
  };
}

function spanIdOf(bytes: Uint8Array): string {
  return hexOf(bytes).padStart(16, '0');
}

function statusCodeOf(code: StatusCode | undefined): SpanInput['status']['code'] {
  if (code === StatusCode.OK) return 'OK';
  return code === StatusCode.ERROR ? 'ERROR' : 'UNSET';
}

/** Rounded to microseconds, like all times of the store. */
function msFromNanos(nanos: bigint): number | null {
  return nanos === 0n ? null : Number((nanos + 500n) / 1000n) / 1000;
}

/**
 * Converts OTLP attributes. Homogeneous lists stay lists (integers and doubles may be mixed); objects and other lists
 * become JSON text, bytes become hex digits, and empty values are omitted.
 */
function attributesFromOtlp(attributes: readonly KeyValue[]): Attributes {
  const entries: [string, AttributeValue][] = [];
  for (const { key, value } of attributes) {
    const attribute = toAttributeValue(jsonOf(value));
    if (attribute !== null) entries.push([key, attribute]);
  }
  return Object.fromEntries(entries);
}

function jsonOf(any: AnyValue | undefined): JsonValue {
  const held = any?.value;
  switch (held?.case) {
    case 'stringValue':
    case 'boolValue':
      return held.value;
    case 'doubleValue':
      // JSON has no NaN or infinity; text preserves them.
      return Number.isFinite(held.value) ? held.value : String(held.value);
    case 'intValue':
      return Number.isSafeInteger(Number(held.value)) ? Number(held.value) : String(held.value);
    case 'bytesValue':
      return hexOf(held.value);
    case 'arrayValue':
      return held.value.values.map(jsonOf);
    case 'kvlistValue':
      return Object.fromEntries(held.value.values.map(({ key, value }) => [key, jsonOf(value)]));
    case undefined:
      return null;
  }
}

/** Bytes as hex digits. */
function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
