import type { AttemptStatus, RolloutStatus, Span, SpanInput } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { equals } from '../page.ts';
import { readInteger, readText } from '../row-value.ts';
import { numbered, type SpanRow, spanColumns, spanRow } from '../span-row.ts';
import { loadAttempt, moveAttempt } from './attempt-record.ts';
import { isQueued, loadRollout } from './rollout-record.ts';
import { lockRows } from './row-lock.ts';
import { markRollouts, positionsOf } from './span-marks.ts';

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
  for (const batch of different) {
    const { rolloutId, attemptId } = batch;
    const { position, lastSequenceId } = await noteSignOfLife(context, rolloutId, attemptId);
    const last = counters.get(rolloutId) ?? lastSequenceId;
    positions.set(rolloutId, position);
    counters.set(rolloutId, last);
    // The first spans of a rollout cannot be there already.
    if (last > 0) await findRecorded(context, batch);
  }
  const newSpans = numberNewSpans(rows, batches, counters);
  for (const [rolloutId, last] of counters) await writeSequenceId(context, rolloutId, last);
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

/** Notes which spans of a batch are recorded already. */
async function findRecorded(
  context: OperationContext,
  { rolloutId, attemptId, spanIds, known }: SpanBatch,
): Promise<void> {
  const [first = ''] = spanIds;
  const ids = spanIds.length === 1 ? equals('span_id', first) : context.dialect.isOneOf('span_id', spanIds);
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

/** What is known of a rollout that gets spans. */
interface Recipient {
  /** Where it stands among all. */
  readonly position: number;
  /** The last number that was given to a span of it. */
  readonly lastSequenceId: number;
}

/**
 * The first span of an attempt makes it running, and brings an unresponsive one back; every span is a heartbeat. An
 * attempt that was given back to the queue stays as it is: nobody may be at work on it, and the queue must keep its
 * rollout.
 */
async function noteSignOfLife(context: OperationContext, rolloutId: string, attemptId: string): Promise<Recipient> {
  const underWay = await findUnderWay(context, rolloutId, attemptId);
  if (underWay !== null) {
    await noteHeartbeat(context, rolloutId, attemptId);
    return underWay;
  }
  const record = await loadRollout(context, rolloutId);
  const { attempt, isGivenBack } = await loadAttempt(context, record, attemptId);
  await noteHeartbeat(context, rolloutId, attempt.attemptId);
  const { latestAttemptId, position } = record;
  const isLatest = attempt.attemptId === latestAttemptId;
  if (!isGivenBack && startsRunning(attempt.status, record.rollout.status, isLatest))
    await moveAttempt(context, { record, attempt }, { to: 'running' });
  return { position, lastSequenceId: await lastSequenceId(context, rolloutId) };
}

/** Looks by one statement for an attempt that stays as it is, as nearly all do; null for every other. */
async function findUnderWay({ db }: OperationContext, rolloutId: string, attemptId: string): Promise<Recipient | null> {
  const [row] = await db.all(
    `SELECT r.position, r.status, r.latest_attempt_id, a.status AS a_status, a.is_given_back, c.last_sequence_id
     FROM rollouts AS r JOIN attempts AS a ON a.rollout_id = r.rollout_id AND a.attempt_id = ?
     JOIN span_counters AS c ON c.rollout_id = r.rollout_id WHERE r.rollout_id = ?`,
    [attemptId, rolloutId],
  );
  if (row === undefined) return null;
  const isLatest = row.latest_attempt_id === attemptId;
  // Trusted: only we write them.
  const statuses = [readText(row, 'a_status') as AttemptStatus, readText(row, 'status') as RolloutStatus] as const;
  if (readInteger(row, 'is_given_back') === 0 && startsRunning(...statuses, isLatest)) return null;
  return { position: readInteger(row, 'position'), lastSequenceId: readInteger(row, 'last_sequence_id') };
}

async function noteHeartbeat({ db, nowMs }: OperationContext, rolloutId: string, attemptId: string): Promise<void> {
  await db.run('UPDATE attempts SET last_heartbeat_time_ms = ? WHERE rollout_id = ? AND attempt_id = ?', [
    nowMs,
    rolloutId,
    attemptId,
  ]);
}

function startsRunning(attempt: AttemptStatus, rollout: RolloutStatus, isLatest: boolean): boolean {
  if (attempt === 'preparing' || attempt === 'unresponsive') return true;
  return attempt === 'running' && isLatest && (rollout === 'preparing' || isQueued(rollout));
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
