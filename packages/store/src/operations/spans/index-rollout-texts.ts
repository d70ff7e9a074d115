import { setImmediate } from 'node:timers/promises';
import type { JsonValue, Span } from '@agentlightning/core';
import { omitContents } from '../../rows/embedded-contents.ts';
import { rolloutWithAttempt, spanFromRow } from '../../rows/row.ts';
import type { OperationContext, OperationRunner } from '../../sql/operation-runner.ts';
import { readInteger, readJson, readText, readTextOrNull } from '../../sql/row-value.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';
import { rolloutWords, WordCollector } from '../../text-search/rollout-words.ts';
import { requestTextIndex } from '../records/text-index-queue.ts';
import { readTraces } from './read-traces.ts';

/** Maximum number of rollouts per transaction. */
const rolloutsPerBatch = 64;

/** Maximum bytes of texts that are indexed without serving other requests: about 30 ms. */
const stepBytes = 2 ** 18;

/** Maximum number of spans of a step. */
const spansPerStep = 64;

/** Larger spans are not indexed. */
const maxSpanBytes = 2 ** 21;

/** Maximum bytes of a rollout that are indexed. */
const maxTextBytes = 2 ** 24;

/** Indexes the texts of a batch of finished rollouts in a transaction, or one larger text in steps. */
export async function indexTexts(runner: OperationRunner, limit: number = rolloutsPerBatch): Promise<void> {
  const large = await runner.write((context) => indexBatch(context, limit));
  if (large !== null) await indexLargeText(runner, large);
}

/** A rollout whose text is indexed in steps: see {@link indexLargeText}. */
interface LargeText {
  readonly position: number;
  readonly rolloutId: string;
  readonly attemptId: string | null;
  /** The spans of its latest attempt; another number means that the text has changed. */
  readonly spanCount: number;
}

/**
 * Indexes the texts of a batch of finished rollouts, the newest first.
 *
 * @param limit - the most rollouts of the batch
 * @returns the first rollout when its text is too large for a transaction; then none is indexed
 */
async function indexBatch(context: OperationContext, limit: number): Promise<LargeText | null> {
  const { db, dialect } = context;
  // Deleted before the spans are read: a span that is added meanwhile then lists its rollout again.
  const taken = await db.all(
    `DELETE FROM rollouts_to_search WHERE position IN (
       SELECT position FROM rollouts_to_search ORDER BY position DESC LIMIT ? ${dialect.skipLocked}
     ) RETURNING position`,
    [limit],
  );
  if (taken.length === 0) return null;
  const positions = taken.map((row) => readInteger(row, 'position'));
  const rows = await db.all(
    `SELECT r.position, r.rollout_id, r.latest_attempt_id, coalesce(a.span_count, 0) AS span_count,
       octet_length(r.input) + coalesce(a.span_bytes, 0) AS bytes
     FROM ${rolloutWithAttempt.from} WHERE r.position IN (${positions.map(() => '?').join(', ')}) ORDER BY r.position DESC`,
    positions,
  );
  const fitting = withinBatch(rows);
  const rest = rows.slice(fitting.length).map((row) => readText(row, 'rollout_id'));
  if (rest.length > 0) await requestTextIndex(context, rest);
  if (fitting.length > 0) await indexSmallTexts(context, fitting);
  const [first] = rows;
  if (first === undefined || fitting.length > 0) return null;
  return {
    position: readInteger(first, 'position'),
    rolloutId: readText(first, 'rollout_id'),
    attemptId: readTextOrNull(first, 'latest_attempt_id'),
    spanCount: readInteger(first, 'span_count'),
  };
}

/** The first rollouts whose texts together are within the limit of a transaction. */
function withinBatch(rows: readonly SqlRow[]): readonly SqlRow[] {
  let bytes = 0;
  const beyond = rows.findIndex((row) => {
    bytes += readInteger(row, 'bytes');
    return bytes > stepBytes;
  });
  return beyond === -1 ? rows : rows.slice(0, beyond);
}

async function indexSmallTexts(context: OperationContext, rows: readonly SqlRow[]): Promise<void> {
  const byId = new Map(rows.map((row) => [readText(row, 'rollout_id'), readInteger(row, 'position')]));
  const traces = await readTraces(context, [...byId.keys()], async (spans) => spans.map(withoutContents));
  for (const trace of traces) {
    const position = byId.get(trace.rolloutId);
    if (position === undefined) continue;
    const [row = {}] = await context.db.all('SELECT input FROM rollouts WHERE position = ?', [position]);
    await writeWords(context, position, rolloutWords(inputOf(row), trace));
    byId.delete(trace.rolloutId);
  }
  if (byId.size > 0) await requestTextIndex(context, [...byId.keys()]);
}

/** A span's row without contents such as images. */
function withoutContents(row: SqlRow): SqlRow {
  return { ...row, body: omitContents(readText(row, 'body')) };
}

/** The input of a row, without contents such as images. */
function inputOf(row: SqlRow): JsonValue {
  return JSON.parse(omitContents(readText(row, 'input')));
}

async function writeWords(
  { db, dialect }: OperationContext,
  position: number,
  words: readonly string[],
): Promise<void> {
  const { sql, parameters } = dialect.writeRolloutWords(position, words);
  await db.run(sql, parameters);
}

/**
 * Indexes the text of one rollout in steps, between which other requests are served: up to {@link maxTextBytes}, without inputs
 * and spans that are too large for a step.
 */
async function indexLargeText(runner: OperationRunner, { position, rolloutId, ...large }: LargeText): Promise<void> {
  const collector = new WordCollector();
  const [head = {}] = await runner.read(({ db }) =>
    db.all(
      `SELECT CASE WHEN octet_length(r.input) <= ${stepBytes} THEN r.input ELSE 'null' END AS input, a.metadata
       FROM ${rolloutWithAttempt.from} WHERE r.position = ?`,
      [position],
    ),
  );
  if ('input' in head) collector.addValue(inputOf(head), 0);
  if (typeof head['metadata'] === 'string') collector.addValue(readJson<JsonValue>(head, 'metadata'), 0);
  let bytes = 0;
  for await (const step of stepsOf(runner, rolloutId, large.attemptId)) {
    for (const span of step.spans) collector.addSpan(span);
    bytes += step.bytes;
    if (collector.isFull || bytes >= maxTextBytes) break;
    await setImmediate();
  }
  await runner.write(async (context) => {
    const [now = {}] = await context.db.all(
      `SELECT r.latest_attempt_id, coalesce(a.span_count, 0) AS span_count FROM ${rolloutWithAttempt.from} WHERE r.position = ?`,
      [position],
    );
    const isSame = now['latest_attempt_id'] === large.attemptId && Number(now['span_count']) === large.spanCount;
    if (isSame) await removeRequest(context, position);
    await writeWords(context, position, collector.words());
  });
}

/** Reads the spans of an attempt in groups of up to {@link stepBytes}; a larger one, up to {@link maxSpanBytes}, is a group. */
async function* stepsOf(
  runner: OperationRunner,
  rolloutId: string,
  attemptId: string | null,
): AsyncGenerator<{ readonly spans: readonly Span[]; readonly bytes: number }> {
  let after: readonly [sequenceId: number, spanId: string] = [-1, ''];
  for (;;) {
    const group = await runner.read(async ({ db }) => {
      const sizes = await db.all(
        `SELECT sequence_id, span_id, octet_length(body) AS bytes FROM spans
         WHERE rollout_id = ? AND attempt_id = ? AND (sequence_id, span_id) > (?, ?)
         ORDER BY sequence_id, span_id LIMIT ${spansPerStep}`,
        [rolloutId, attemptId, ...after],
      );
      const fitting = withinBatch(sizes);
      const chosen = fitting.length > 0 ? fitting : sizes.slice(0, 1);
      const last = chosen.at(-1);
      if (last === undefined) return null;
      const ids = chosen.map((row) => readText(row, 'span_id'));
      const rows = await db.all(
        `SELECT * FROM spans WHERE rollout_id = ? AND attempt_id = ? AND octet_length(body) <= ${maxSpanBytes}
           AND span_id IN (${ids.map(() => '?').join(', ')})`,
        [rolloutId, attemptId, ...ids],
      );
      const bytes = chosen.reduce((sum, row) => sum + readInteger(row, 'bytes'), 0);
      return { spans: rows.map(withoutContents).map(spanFromRow), bytes, last };
    });
    if (group === null) return;
    after = [readInteger(group.last, 'sequence_id'), readText(group.last, 'span_id')];
    yield group;
  }
}

/** The rollout that is indexed next. */
export async function nextText({ db }: OperationContext): Promise<number | null> {
  const [row] = await db.all('SELECT position FROM rollouts_to_search ORDER BY position DESC LIMIT 1');
  return row === undefined ? null : readInteger(row, 'position');
}

/** Takes a rollout off the list: it is not indexed until it changes. */
export async function removeRequest({ db }: OperationContext, position: number): Promise<void> {
  await db.run('DELETE FROM rollouts_to_search WHERE position = ?', [position]);
}

/** Removes the texts of rollouts from the index; call it before the rollouts are deleted. */
export async function removeTexts({ db, dialect }: OperationContext, rolloutIds: readonly string[]): Promise<void> {
  const { sql, parameters } = dialect.isOneOf('rollout_id', rolloutIds);
  const positions = `SELECT position FROM rollouts WHERE ${sql}`;
  await db.run(`DELETE FROM rollouts_to_search WHERE position IN (${positions})`, parameters);
  await db.run(`DELETE FROM rollout_words WHERE rowid IN (${positions})`, parameters);
}
