import type { Attributes, AttributeValue, SpanInput } from '@agentlightning/core';
import { maxSequenceId } from '@agentlightning/core/protocol';
import { agentLightningAttributes, assertRewardsInRange } from '@agentlightning/core/spans';
import {
  type ExportTraceServiceRequest,
  type Span as OtlpSpan,
  StatusCode,
} from '../../gen/agentlightning/otlp/v1/traces_pb.ts';
import { attributesFromOtlp, hexOf } from './otlp-attributes.ts';

/** What an OTLP request carries. */
export interface OtlpSpans {
  readonly spans: readonly SpanInput[];
  /** Why spans were left out, one sentence for each of them. */
  readonly leftOut: readonly string[];
}

/** The attributes that say where a span belongs, of a span or else of its resource. */
const { rolloutId: rolloutIdName, attemptId: attemptIdName, spanSequenceId: sequenceIdName } = agentLightningAttributes;

/** An attempt that spans belong to which do not say where they belong. */
export type SpanPosition = Pick<SpanInput, 'rolloutId' | 'attemptId'>;

/** The spans of an OTLP request. A span without a rollout, attempt or id, or with an invalid reward, is left out. */
export function spansFromOtlp(request: ExportTraceServiceRequest, otherwise: SpanPosition | null): OtlpSpans {
  const spans: SpanInput[] = [];
  const leftOut: string[] = [];
  for (const { resource: producer, schemaUrl, scopeSpans } of request.resourceSpans) {
    const resource = { attributes: attributesFromOtlp(producer?.attributes ?? []), schemaUrl };
    for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
      const input = spanFromOtlp(span, { resource, otherwise });
      const problem = typeof input === 'string' ? input : rewardProblem(input);
      if (problem !== null) leftOut.push(problem);
      else if (typeof input !== 'string') spans.push(input);
    }
  }
  return { spans, leftOut };
}

/** Why the reward of a span is refused; null when it is in range, or there is none. */
function rewardProblem(span: SpanInput): string | null {
  try {
    assertRewardsInRange(span);
    return null;
  } catch (error) {
    return `Span ${span.name}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** What a span has from outside of it. */
interface SpanSurroundings {
  readonly resource: SpanInput['resource'];
  readonly otherwise: SpanPosition | null;
}

function spanFromOtlp(span: OtlpSpan, { resource, otherwise }: SpanSurroundings): SpanInput | string {
  const attributes = attributesFromOtlp(span.attributes);
  const placed = (name: string): AttributeValue | undefined => attributes[name] ?? resource.attributes[name];
  const rolloutId = placed(rolloutIdName) ?? otherwise?.rolloutId;
  const attemptId = placed(attemptIdName) ?? otherwise?.attemptId;
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

/** To the microsecond, as every time of the store. */
function msFromNanos(nanos: bigint): number | null {
  return nanos === 0n ? null : Number((nanos + 500n) / 1000n) / 1000;
}
