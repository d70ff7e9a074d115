import { NotFoundError, type Span, ValidationError } from '@agentlightning/core';
import { maxTraceRollouts } from '@agentlightning/core/protocol';
import type { RolloutTrace } from '@agentlightning/core/store';
import { attemptFromRow, latestAttemptColumns, rolloutWithAttempt, spanFromRow } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';
import { withContents } from '../records/contents.ts';

/** Bytes of spans after which no further rollout is read: in process, a page blocks the event loop. */
const pageBytes = 2 ** 20;
/** Maximum number of rollouts per page. */
const pageRollouts = 64;

/**
 * Reads the traces of the first of the rollouts: at least one, up to the limits of a page.
 *
 * @param completed - adds contents such as images to the rows of spans
 * @throws NotFoundError when one of the rollouts up to the limit of a page does not exist
 * @throws ValidationError for more than {@link maxTraceRollouts} ids
 */
export async function readTraces(
  context: OperationContext,
  rolloutIds: readonly string[],
  completed: CompleteRows = (rows) => withContents(context, rows, 'body'),
): Promise<readonly RolloutTrace[]> {
  assertCount(rolloutIds.length);
  const attempts = await readAttempts(context, rolloutIds.slice(0, pageRollouts));
  const page = upToLimit(attempts);
  const spans = spansByRollout(await completed(await readSpanRows(context, page)));
  return page.map(({ rolloutId, row }) => {
    const attempt = row.a_attempt_id === null ? null : attemptFromRow(row, 'a_');
    return { rolloutId, attempt, spans: spans.get(rolloutId) ?? [] };
  });
}

/** Completes the rows of a page. */
type CompleteRows = (rows: readonly SqlRow[]) => Promise<readonly SqlRow[]>;

interface AttemptOfRollout {
  readonly rolloutId: string;
  readonly row: SqlRow;
}

async function readAttempts(
  { db, dialect }: OperationContext,
  rolloutIds: readonly string[],
): Promise<readonly AttemptOfRollout[]> {
  const { sql, parameters } = dialect.isOneOf('r.rollout_id', rolloutIds);
  const rows = await db.all(
    `SELECT r.rollout_id, coalesce(a.span_bytes, 0) AS span_bytes, ${latestAttemptColumns}
     FROM ${rolloutWithAttempt.from} WHERE ${sql}`,
    parameters,
  );
  const byId = new Map(rows.map((row) => [readText(row, 'rollout_id'), row]));
  return rolloutIds.map((rolloutId) => {
    const row = byId.get(rolloutId);
    if (row === undefined) throw new NotFoundError('Rollout', rolloutId);
    return { rolloutId, row };
  });
}

function upToLimit(attempts: readonly AttemptOfRollout[]): readonly AttemptOfRollout[] {
  let bytes = 0;
  const beyond = attempts.findIndex(({ row }, index) => {
    bytes += readInteger(row, 'span_bytes');
    return index > 0 && bytes > pageBytes;
  });
  return beyond === -1 ? attempts : attempts.slice(0, beyond);
}

async function readSpanRows(
  { db, dialect }: OperationContext,
  attempts: readonly AttemptOfRollout[],
): Promise<readonly SqlRow[]> {
  const { sql, parameters } = dialect.isOneOf(
    's.rollout_id',
    attempts.map(({ rolloutId }) => rolloutId),
  );
  return db.all(
    `SELECT s.* FROM spans AS s JOIN rollouts AS r ON r.rollout_id = s.rollout_id AND r.latest_attempt_id = s.attempt_id
     WHERE ${sql} ORDER BY s.rollout_id, s.sequence_id, s.span_id`,
    parameters,
  );
}

function spansByRollout(rows: readonly SqlRow[]): ReadonlyMap<string, readonly Span[]> {
  const byRollout = new Map<string, Span[]>();
  for (const row of rows) {
    const span = spanFromRow(row);
    const known = byRollout.get(span.rolloutId);
    if (known === undefined) byRollout.set(span.rolloutId, [span]);
    else known.push(span);
  }
  return byRollout;
}

function assertCount(count: number): void {
  if (count >= 1 && count <= maxTraceRollouts) return;
  const message = `must have 1 to ${maxTraceRollouts} ids, got ${count}`;
  throw new ValidationError('Query', [{ path: 'rolloutIds', message }]);
}
