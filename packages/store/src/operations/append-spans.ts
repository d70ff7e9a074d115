import type { Span, SpanInput } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { readText } from '../row-value.ts';
import { numbered, type SpanRow, spanColumns, spanRow } from '../span-row.ts';
import { loadAttempt } from './attempt-record.ts';
import { loadRollout } from './rollout-record.ts';
import { lockRows } from './row-lock.ts';
import { markRollouts, positionsOf } from './span-marks.ts';
import { areOneOf, blocksOf, lastSequenceId, noteSignsOfLife } from './span-recipients.ts';

/**
 * Records spans; null stands for one that was there already. Each is a sign of life of its attempt.
 *
 * @throws NotFoundError when a span's rollout or attempt does not exist; then none is recorded
 */
export async function appendSpans(
  context: OperationContext,
  spans: readonly SpanInput[],
): Promise<readonly (Span | null)[]> {
  const sequenceIds = await appendSpanRows(context, spans.map(spanRow));
  return spans.map((span, index) => {
    const sequenceId = sequenceIds[index] ?? null;
    return sequenceId === null ? null : { ...span, sequenceId };
  });
}

/**
 * As {@link appendSpans}, for those who have the rows and need the sequence ids alone.
 *
 * @throws NotFoundError when a span's rollout or attempt does not exist; then none is recorded
 */
export async function appendSpanRows(
  context: OperationContext,
  rows: readonly SpanRow[],
): Promise<readonly (number | null)[]> {
  const batches = batchesOf(rows);
  const different = new Set(batches);
  await lockRows(
    context,
    'rollouts',
    [...different].map(({ rolloutId }) => rolloutId),
  );
  const counters = new Map<string, number>();
  const positions = new Map<string, number>();
  const recipients = await noteSignsOfLife(context, [...different]);
  for (const [index, { rolloutId }] of [...different].entries()) {
    const { position, lastSequenceId } = recipients[index] ?? { position: 0, lastSequenceId: 0 };
    positions.set(rolloutId, position);
    counters.set(rolloutId, lastSequenceId);
  }
  // The first spans of a rollout cannot be there already.
  await findRecorded(
    context,
    [...different].filter(({ rolloutId }) => (counters.get(rolloutId) ?? 0) > 0),
  );
  const newSpans = numberNewSpans(rows, batches, counters);
  await writeSequenceIds(context, counters);
  await insertSpanRows(
    context,
    newSpans.filter((row) => row !== null),
    positions,
  );
  noteSpans(context, different);
  return newSpans.map((row) => row?.[3] ?? null);
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
function batchesOf(rows: readonly SpanRow[]): readonly SpanBatch[] {
  const byRollout = new Map<string, Map<string, SpanBatch>>();
  let last: SpanBatch | null = null;
  // By index here and below: taking lists apart costs as much as all the rest of it, hundreds of times a request.
  return rows.map((row) => {
    const rolloutId = row[0];
    const attemptId = row[1];
    // Spans that come together are mostly of one attempt.
    if (last === null || last.attemptId !== attemptId || last.rolloutId !== rolloutId) {
      const byAttempt = byRollout.get(rolloutId) ?? new Map<string, SpanBatch>();
      byRollout.set(rolloutId, byAttempt);
      last = byAttempt.get(attemptId) ?? newBatch(rolloutId, attemptId);
      byAttempt.set(attemptId, last);
    }
    last.spanIds.push(row[2]);
    return last;
  });
}

function newBatch(rolloutId: string, attemptId: string): SpanBatch {
  return { rolloutId, attemptId, spanIds: [], known: new Set(), count: 0, lastSequenceId: 0 };
}

/** A span that was not there, with its number; null stands for one that was, or comes twice. */
type NewSpans = readonly (SpanRow | null)[];

/** Gives those spans that are not known their numbers, in order, and counts on from the last one of each rollout. */
function numberNewSpans(
  rows: readonly SpanRow[],
  batches: readonly SpanBatch[],
  counters: Map<string, number>,
): NewSpans {
  return rows.map((row, index): SpanRow | null => {
    const rolloutId = row[0];
    const spanId = row[2];
    const batch = batches[index];
    if (batch === undefined || batch.known.has(spanId)) return null;
    batch.known.add(spanId);
    const last = counters.get(rolloutId) ?? 0;
    const sequenceId = row[3] ?? last + 1;
    if (sequenceId > last) counters.set(rolloutId, sequenceId);
    batch.count += 1;
    batch.lastSequenceId = Math.max(batch.lastSequenceId, sequenceId);
    return numbered(row, sequenceId);
  });
}

/** Notes which spans of batches are recorded already. */
async function findRecorded(context: OperationContext, batches: readonly SpanBatch[]): Promise<void> {
  for (const batch of batches) if (batch.spanIds.length > 1) await findManyRecorded(context, batch);
  const columns = ['rollout_id', 'attempt_id', 'span_id'];
  for (const block of blocksOf(batches.filter(({ spanIds }) => spanIds.length === 1))) {
    const spans = block.map(({ rolloutId, attemptId, spanIds: [spanId = ''] }) => [rolloutId, attemptId, spanId]);
    const those = areOneOf(columns, spans);
    const rows = await context.db.all(`SELECT rollout_id, span_id FROM spans WHERE ${those.sql}`, those.parameters);
    for (const row of rows) {
      const rolloutId = readText(row, 'rollout_id');
      block.find((batch) => batch.rolloutId === rolloutId)?.known.add(readText(row, 'span_id'));
    }
  }
}

async function findManyRecorded(
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

function noteSpans(context: OperationContext, batches: Iterable<SpanBatch>): void {
  for (const { rolloutId, attemptId, count, lastSequenceId } of batches) {
    if (count > 0) context.changes.record({ kind: 'spans', rolloutId, attemptId, count, lastSequenceId });
  }
}

/** Writes those spans that are not there yet, and nothing else. */
export async function insertSpans(context: OperationContext, spans: readonly Span[]): Promise<void> {
  const rolloutIds = [...new Set(spans.map(({ rolloutId }) => rolloutId))];
  await insertSpanRows(context, spans.map(spanRow), await positionsOf(context, rolloutIds));
}

async function insertSpanRows(
  context: OperationContext,
  rows: readonly SpanRow[],
  positions: ReadonlyMap<string, number>,
): Promise<void> {
  if (rows.length === 0) return;
  await Promise.all([
    context.db.insert({
      table: 'spans',
      columns: spanColumns,
      unlessKnown: ['rollout_id', 'attempt_id', 'span_id'],
      rows,
    }),
    markRollouts(context, rows, positions),
  ]);
}

/** Writes the last number that was given to a span of a rollout. */
export function writeSequenceId(context: OperationContext, rolloutId: string, last: number): Promise<void> {
  return writeSequenceIds(context, new Map([[rolloutId, last]]));
}

function writeSequenceIds({ db }: OperationContext, counters: ReadonlyMap<string, number>): Promise<void> {
  return db.insert({
    table: 'span_counters',
    columns: { rollout_id: 'text', last_sequence_id: 'integer' },
    unlessKnown: ['rollout_id'],
    orElseSet: ['last_sequence_id'],
    rows: [...counters].map((counter) => [...counter]),
  });
}
