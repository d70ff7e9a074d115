import { type SpanInput, ValidationError } from '@agentlightning/core';
import { assertRewardsInRange } from '@agentlightning/core/internal';
import { assertId, maxSequenceId } from '@agentlightning/core/protocol';
import { toJson } from '../sql/row-value.ts';
import { spanBody } from './row.ts';

/**
 * The values of a span's row, in the order of {@link spanColumns}; the sequence id is null until the store assigns one.
 */
export type SpanRow = readonly [
  rolloutId: string,
  attemptId: string,
  spanId: string,
  sequenceId: number | null,
  traceId: string,
  parentId: string | null,
  name: string,
  startTimeMs: number | null,
  endTimeMs: number | null,
  body: string,
];

/** The columns of a {@link SpanRow}, in its order. */
export const spanColumns = {
  rollout_id: 'text',
  attempt_id: 'text',
  span_id: 'text',
  sequence_id: 'integer',
  trace_id: 'text',
  parent_id: 'text',
  name: 'text',
  start_time_ms: 'real',
  end_time_ms: 'real',
  body: 'text',
} as const;

/**
 * The row of a span.
 *
 * @throws ValidationError when an id is invalid, a value cannot be represented in JSON, or the sequence id is out of range
 * @throws AgentLightningError INVALID_REWARD when it records a reward that is not finite or too large
 */
export function spanRow(span: SpanInput): SpanRow {
  assertId('rolloutId', span.rolloutId);
  assertId('attemptId', span.attemptId);
  assertId('spanId', span.spanId);
  assertId('traceId', span.traceId);
  assertId('parentId', span.parentId);
  assertSequenceId(span.sequenceId);
  assertRewardsInRange(span);
  return [
    span.rolloutId,
    span.attemptId,
    span.spanId,
    span.sequenceId ?? null,
    span.traceId,
    span.parentId,
    span.name,
    span.startTimeMs,
    span.endTimeMs,
    toJson(spanBody(span), `Span ${span.spanId}`),
  ];
}

/** The same row with this sequence id. */
export function numbered(row: SpanRow, sequenceId: number): SpanRow {
  if (row[3] === sequenceId) return row;
  const [rolloutId, attemptId, spanId, , traceId, parentId, name, startTimeMs, endTimeMs, body] = row;
  return [rolloutId, attemptId, spanId, sequenceId, traceId, parentId, name, startTimeMs, endTimeMs, body];
}

/** The same row with this body. */
export function withBody(row: SpanRow, body: string): SpanRow {
  const [rolloutId, attemptId, spanId, sequenceId, traceId, parentId, name, startTimeMs, endTimeMs] = row;
  return [rolloutId, attemptId, spanId, sequenceId, traceId, parentId, name, startTimeMs, endTimeMs, body];
}

function assertSequenceId(sequenceId: number | undefined): void {
  if (sequenceId === undefined || (Number.isInteger(sequenceId) && sequenceId >= 0 && sequenceId <= maxSequenceId))
    return;
  const message = `must be an integer from 0 to ${maxSequenceId}, got ${sequenceId}`;
  throw new ValidationError('Span', [{ path: 'sequenceId', message }]);
}
