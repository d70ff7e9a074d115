import type { Attempt, Span, SpanInput } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { type RolloutRecord, spanBody } from '../row.ts';
import { readInteger, readText, toJson } from '../row-value.ts';
import { loadAttempt, moveAttempt } from './attempt-record.ts';
import { isQueued, loadRollout } from './rollout-record.ts';
import { lockRows } from './row-lock.ts';

/**
 * Records spans; null stands for one that was there already. Each is a sign of life of its attempt.
 *
 * @throws NotFoundError when a span's rollout or attempt does not exist; then none is recorded
 */
export async function appendSpans(
  context: OperationContext,
  spans: readonly SpanInput[],
): Promise<readonly (Span | null)[]> {
  await lockRows(
    context,
    'rollouts',
    spans.map((span) => span.rolloutId),
  );
  const batches = batchesOf(spans);
  for (const batch of new Set(batches)) {
    await noteSignOfLife(context, batch.rolloutId, batch.attemptId);
    await findRecorded(context, batch);
  }
  const results = await numberNewSpans(context, spans, batches);
  await insertSpans(
    context,
    results.filter((span) => span !== null),
  );
  noteSpans(context, batches);
  return results;
}

/** The spans of one attempt, of those that are recorded together. */
interface SpanBatch {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly spanIds: string[];
  /** Ids of spans that are recorded already, or stand further ahead. */
  readonly known: Set<string>;
  /** How many are new. */
  count: number;
  lastSequenceId: number;
}

/** The batch of each of the spans. */
function batchesOf(spans: readonly SpanInput[]): readonly SpanBatch[] {
  const byRollout = new Map<string, Map<string, SpanBatch>>();
  return spans.map(({ rolloutId, attemptId, spanId }) => {
    const byAttempt = byRollout.get(rolloutId) ?? new Map<string, SpanBatch>();
    byRollout.set(rolloutId, byAttempt);
    const batch = byAttempt.get(attemptId) ?? newBatch(rolloutId, attemptId);
    byAttempt.set(attemptId, batch);
    batch.spanIds.push(spanId);
    return batch;
  });
}

function newBatch(rolloutId: string, attemptId: string): SpanBatch {
  return { rolloutId, attemptId, spanIds: [], known: new Set(), count: 0, lastSequenceId: 0 };
}

/** Gives those spans that are not known their numbers, in order; null stands for one that is, or comes twice. */
async function numberNewSpans(
  context: OperationContext,
  spans: readonly SpanInput[],
  batches: readonly SpanBatch[],
): Promise<readonly (Span | null)[]> {
  const counters = new Map<string, number>();
  for (const { rolloutId } of new Set(batches)) {
    if (!counters.has(rolloutId)) counters.set(rolloutId, await lastSequenceId(context, rolloutId));
  }
  const results = spans.map((span, index): Span | null => {
    const batch = batches[index];
    if (batch === undefined || batch.known.has(span.spanId)) return null;
    batch.known.add(span.spanId);
    const last = counters.get(span.rolloutId) ?? 0;
    const sequenceId = span.sequenceId ?? last + 1;
    counters.set(span.rolloutId, Math.max(last, sequenceId));
    batch.count += 1;
    batch.lastSequenceId = Math.max(batch.lastSequenceId, sequenceId);
    return { ...span, sequenceId };
  });
  for (const [rolloutId, last] of counters) await writeSequenceId(context, rolloutId, last);
  return results;
}

/** Notes which spans of a batch are recorded already. */
async function findRecorded(
  context: OperationContext,
  { rolloutId, attemptId, spanIds, known }: SpanBatch,
): Promise<void> {
  const ids = context.dialect.isOneOf('span_id', spanIds);
  const rows = await context.db.all(
    `SELECT span_id FROM spans WHERE rollout_id = ? AND attempt_id = ? AND ${ids.sql}`,
    [rolloutId, attemptId, ...ids.parameters],
  );
  for (const row of rows) known.add(readText(row, 'span_id'));
}

/**
 * Gives out the next sequence id of each attempt's rollout, in order.
 *
 * @throws NotFoundError when a rollout or attempt does not exist; then none is given out
 */
export async function reserveSpanSequenceIds(
  context: OperationContext,
  attempts: readonly { readonly rolloutId: string; readonly attemptId: string }[],
): Promise<readonly number[]> {
  await lockRows(
    context,
    'rollouts',
    attempts.map((attempt) => attempt.rolloutId),
  );
  const reserved: number[] = [];
  for (const { rolloutId, attemptId } of attempts) {
    await loadAttempt(context, await loadRollout(context, rolloutId), attemptId);
    const next = (await lastSequenceId(context, rolloutId)) + 1;
    await writeSequenceId(context, rolloutId, next);
    reserved.push(next);
  }
  return reserved;
}

function noteSpans(context: OperationContext, batches: readonly SpanBatch[]): void {
  for (const { rolloutId, attemptId, count, lastSequenceId } of new Set(batches)) {
    if (count > 0) context.changes.record({ kind: 'spans', rolloutId, attemptId, count, lastSequenceId });
  }
}

/** Writes those spans that are not there yet, and nothing else. */
export function insertSpans(context: OperationContext, spans: readonly Span[]): Promise<void> {
  return context.db.insert({
    table: 'spans',
    columns: spanColumns,
    unlessKnown: ['rollout_id', 'attempt_id', 'span_id'],
    rows: spans.map((span) => [
      span.rolloutId,
      span.attemptId,
      span.spanId,
      span.sequenceId,
      span.traceId,
      span.parentId,
      span.name,
      span.startTimeMs,
      span.endTimeMs,
      toJson(spanBody(span), `Span ${span.spanId}`),
    ]),
  });
}

const spanColumns = {
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
 * The first span of an attempt makes it running, and brings an unresponsive one back; every span is a heartbeat. An
 * attempt that was given back to the queue stays as it is: nobody may be at work on it, and the queue must keep its
 * rollout.
 */
async function noteSignOfLife(context: OperationContext, rolloutId: string, attemptId: string): Promise<void> {
  const record = await loadRollout(context, rolloutId);
  const { attempt, isGivenBack } = await loadAttempt(context, record, attemptId);
  await context.db.run('UPDATE attempts SET last_heartbeat_time_ms = ? WHERE rollout_id = ? AND attempt_id = ?', [
    context.nowMs,
    rolloutId,
    attempt.attemptId,
  ]);
  if (!isGivenBack && startsRunning(record, attempt))
    await moveAttempt(context, { record, attempt }, { to: 'running' });
}

function startsRunning(record: RolloutRecord, attempt: Attempt): boolean {
  if (attempt.status === 'preparing' || attempt.status === 'unresponsive') return true;
  return (
    attempt.status === 'running' &&
    attempt.attemptId === record.latestAttemptId &&
    (record.rollout.status === 'preparing' || isQueued(record.rollout.status))
  );
}

async function lastSequenceId(context: OperationContext, rolloutId: string): Promise<number> {
  const [row] = await context.db.all('SELECT last_sequence_id FROM span_counters WHERE rollout_id = ?', [rolloutId]);
  return row === undefined ? 0 : readInteger(row, 'last_sequence_id');
}

/** Writes the last number that was given to a span of a rollout. */
export async function writeSequenceId(context: OperationContext, rolloutId: string, last: number): Promise<void> {
  await context.db.run(
    `INSERT INTO span_counters (rollout_id, last_sequence_id) VALUES (?, ?)
     ON CONFLICT (rollout_id) DO UPDATE SET last_sequence_id = excluded.last_sequence_id`,
    [rolloutId, last],
  );
}
