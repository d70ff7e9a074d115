import type { Span, SpanInput } from '@agentlightning/core';
import { feedbackFromSpan } from '@agentlightning/core/internal';
import { rewardFromSpan } from '@agentlightning/core/spans';
import { isTerminalRolloutStatus } from '@agentlightning/core/store';
import { assertSpanQuotas, assertWithin, bytesOf } from '../../attempt-quotas.ts';
import { mayEmbedContents } from '../../rows/embedded-contents.ts';
import { numbered, type SpanRow, spanColumns, spanRow, withBody } from '../../rows/span-row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import { loadAttempt } from '../records/attempt-record.ts';
import { storeContents } from '../records/contents.ts';
import { loadRollout } from '../records/rollout-record.ts';
import { lockRows } from '../records/row-lock.ts';
import { lastSequenceId, writeSequenceId } from '../records/span-counter.ts';
import { markRollouts, onlyMarkOf, positionsOf } from '../records/span-marks.ts';
import { requestTextIndex } from '../records/text-index-queue.ts';
import { recordSpanHeartbeat } from './record-span-heartbeat.ts';
import { recordUsage } from './record-usage.ts';

/**
 * Records spans; returns null for spans that already exist. Each span is a heartbeat of its attempt.
 *
 * @throws NotFoundError when a span's rollout or attempt does not exist; then none is recorded
 * @throws AgentLightningError QUOTA_EXCEEDED when a span or its attempt exceeds a quota; then none is recorded
 */
export async function appendSpans(
  context: OperationContext,
  spans: readonly SpanInput[],
): Promise<readonly (Span | null)[]> {
  const rows = quotaRows(context, spans);
  const batches = batchesOf(rows);
  const different = new Set(batches);
  await lockRows(
    context,
    'rollouts',
    [...different].map(({ rolloutId }) => rolloutId),
  );
  const counters = new Map<string, number>();
  const unmarked = new Map<string, number>();
  const finished: string[] = [];
  for (const batch of different) {
    const { rolloutId, attemptId, spanIds, first } = batch;
    const single = spanIds.length === 1 ? { spanId: first[2], mark: onlyMarkOf(first) } : null;
    const recipient = await recordSpanHeartbeat(context, { rolloutId, attemptId, single });
    if (!counters.has(rolloutId)) counters.set(rolloutId, recipient.lastSequenceId);
    if (isTerminalRolloutStatus(recipient.rolloutStatus)) finished.push(rolloutId);
    if (!recipient.isMarked) unmarked.set(rolloutId, recipient.position);
    if (recipient.isRecorded === true) batch.known.add(first[2]);
    // The first spans of a rollout cannot exist yet.
    if (recipient.isRecorded === null && recipient.lastSequenceId > 0) await findRecorded(context, batch);
  }
  const newSpans = numberNewSpans(rows, batches, counters);
  for (const [rolloutId, last] of counters) await writeSequenceId(context, rolloutId, last);
  for (const batch of different) await countSpans(context, batch);
  await insertSpanRows(
    context,
    newSpans.filter((row) => row !== null),
    unmarked,
  );
  if (finished.length > 0) await requestTextIndex(context, finished);
  recordSpanChanges(context, different);
  const recorded = spans.map((span, index) => {
    const sequenceId = newSpans[index]?.[3] ?? null;
    return sequenceId === null ? null : { ...span, sequenceId };
  });
  const added = recorded.filter((span) => span !== null);
  await recordRewards(context, added);
  await recordUsage(context, added);
  return recorded;
}

/** The rows of spans that are within the quotas of a single span. */
function quotaRows({ quotas }: OperationContext, spans: readonly SpanInput[]): readonly SpanRow[] {
  return spans.map((span) => {
    const row = spanRow(span);
    assertSpanQuotas(quotas, span, bytesOf(row));
    return row;
  });
}

const spanTable = {
  table: 'spans',
  columns: spanColumns,
  unlessKnown: ['rollout_id', 'attempt_id', 'span_id'],
} as const;

/** The spans of one attempt in a request. */
interface SpanBatch {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly spanIds: string[];
  /** The first of them. */
  readonly first: SpanRow;
  /** Ids of spans that are already recorded or occur earlier in the request. */
  readonly known: Set<string>;
  /** Number of new spans. */
  count: number;
  /** Bytes of new spans. */
  bytes: number;
  lastSequenceId: number;
}

/** The batch of each of the spans. */
function batchesOf(rows: readonly SpanRow[]): readonly SpanBatch[] {
  const byRollout = new Map<string, Map<string, SpanBatch>>();
  let last: SpanBatch | null = null;
  // By index here and below: destructuring arrays would double the cost of this hot path.
  return rows.map((row) => {
    const rolloutId = row[0];
    const attemptId = row[1];
    // The spans of a request mostly belong to one attempt.
    if (last === null || last.attemptId !== attemptId || last.rolloutId !== rolloutId) {
      const byAttempt = byRollout.get(rolloutId) ?? new Map<string, SpanBatch>();
      byRollout.set(rolloutId, byAttempt);
      last = byAttempt.get(attemptId) ?? newBatch(row);
      byAttempt.set(attemptId, last);
    }
    last.spanIds.push(row[2]);
    return last;
  });
}

function newBatch(first: SpanRow): SpanBatch {
  return {
    rolloutId: first[0],
    attemptId: first[1],
    spanIds: [],
    first,
    known: new Set(),
    count: 0,
    bytes: 0,
    lastSequenceId: 0,
  };
}

/** New spans with their sequence ids; null for existing and duplicate spans. */
type NewSpans = readonly (SpanRow | null)[];

/** Assigns sequence ids to new spans in order, continuing from the last one of each rollout. */
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
    batch.bytes += bytesOf(row);
    batch.lastSequenceId = Math.max(batch.lastSequenceId, sequenceId);
    return numbered(row, sequenceId);
  });
}

/**
 * Adds the new spans of a batch to the totals of their attempt.
 *
 * @throws AgentLightningError QUOTA_EXCEEDED
 */
async function countSpans({ db, quotas }: OperationContext, batch: SpanBatch): Promise<void> {
  const { rolloutId, attemptId, count, bytes } = batch;
  if (count === 0) return;
  const [row = {}] = await db.all(
    `UPDATE attempts SET span_count = span_count + ?, span_bytes = span_bytes + ?
     WHERE rollout_id = ? AND attempt_id = ? RETURNING span_count, span_bytes`,
    [count, bytes, rolloutId, attemptId],
  );
  const subject = `attempt ${attemptId} of rollout ${rolloutId}`;
  assertWithin(quotas, 'maxAttemptSpans', { subject, actual: readInteger(row, 'span_count') });
  assertWithin(quotas, 'maxAttemptBytes', { subject, actual: readInteger(row, 'span_bytes') });
}

/** Finds the spans of a batch that are already recorded. */
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
 * Reserves the next sequence id of each attempt's rollout, in order.
 *
 * @throws NotFoundError when a rollout or attempt does not exist; then none is reserved
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
    const record = await loadRollout(context, rolloutId);
    if (context.isLenient !== true) await loadAttempt(context, record, attemptId);
    const next = (await lastSequenceId(context, rolloutId)) + 1;
    await writeSequenceId(context, rolloutId, next);
    reserved.push(next);
  }
  return reserved;
}

function recordSpanChanges(context: OperationContext, batches: Iterable<SpanBatch>): void {
  for (const { rolloutId, attemptId, count, lastSequenceId } of batches) {
    if (count > 0) context.changes.record({ kind: 'spans', rolloutId, attemptId, count, lastSequenceId });
  }
}

/**
 * Inserts the spans that do not exist yet, without heartbeats or notifications.
 *
 * @throws AgentLightningError QUOTA_EXCEEDED as {@link appendSpans}
 */
export async function insertSpans(context: OperationContext, spans: readonly Span[]): Promise<void> {
  const rolloutIds = [...new Set(spans.map(({ rolloutId }) => rolloutId))];
  const rows = quotaRows(context, spans);
  const batches = batchesOf(rows);
  for (const [index, row] of rows.entries()) {
    const batch = batches[index];
    if (batch === undefined) continue;
    batch.count += 1;
    batch.bytes += bytesOf(row);
  }
  for (const batch of new Set(batches)) await countSpans(context, batch);
  await insertSpanRows(context, rows, await positionsOf(context, rolloutIds));
  await recordRewards(context, spans);
  await recordUsage(context, spans);
}

/** Inserts spans and marks the rollouts in `positions`. */
async function insertSpanRows(
  context: OperationContext,
  rows: readonly SpanRow[],
  positions: ReadonlyMap<string, number>,
): Promise<void> {
  if (rows.length === 0) return;
  const inserted = context.db.insert(spanTable, await withReferences(context, rows));
  await (positions.size === 0 ? inserted : Promise.all([inserted, markRollouts(context, rows, positions)]));
}

/** Rows whose bodies refer to their contents, which are stored. */
async function withReferences(context: OperationContext, rows: readonly SpanRow[]): Promise<readonly SpanRow[]> {
  if (!rows.some((row) => mayEmbedContents(row[9]))) return rows;
  const bodies = await storeContents(
    context,
    rows.map((row) => ({ rolloutId: row[0], json: row[9] })),
  );
  return rows.map((row, index) => withBody(row, bodies[index] ?? row[9]));
}

/**
 * Records the rewards of new spans with their attempts, and the labels of reviewers with the rollouts. The reward of an attempt is the one with the last sequence id; that of a
 * rollout is the reward of its latest attempt.
 */
async function recordRewards({ db }: OperationContext, spans: Iterable<Span>): Promise<void> {
  for (const span of spans) {
    const feedback = feedbackFromSpan(span);
    if (feedback?.label !== undefined && feedback.source === 'reviewer') {
      await db.run('UPDATE rollouts SET label = ? WHERE rollout_id = ? AND latest_attempt_id = ?', [
        feedback.label === 'none' ? null : feedback.label,
        span.rolloutId,
        span.attemptId,
      ]);
    }
    const value = rewardFromSpan(span)?.rewards[0]?.value;
    if (value === undefined) continue;
    const changed = await db.run(
      `UPDATE attempts SET reward = ?, reward_sequence_id = ?
       WHERE rollout_id = ? AND attempt_id = ? AND coalesce(reward_sequence_id, -1) <= ?`,
      [value, span.sequenceId, span.rolloutId, span.attemptId, span.sequenceId],
    );
    if (changed === 0) continue;
    await db.run('UPDATE rollouts SET reward = ? WHERE rollout_id = ? AND latest_attempt_id = ?', [
      value,
      span.rolloutId,
      span.attemptId,
    ]);
  }
}
