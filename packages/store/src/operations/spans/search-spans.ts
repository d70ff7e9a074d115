import { ValidationError } from '@agentlightning/core';
import type { SpanSearch, SpanSearchPage } from '@agentlightning/core/store';
import { z } from 'zod';
import { storedForms } from '../../rows/embedded-contents.ts';
import { spanFromRow } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { allOf, equals, joinFilters } from '../../sql/page.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import type { SqlCondition } from '../../sql/sql-dialect.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';
import { withContents } from '../records/contents.ts';
import { loadRun } from '../records/read-runs.ts';
import { markOf } from '../records/span-marks.ts';

/** The position at which a search resumes. */
interface SearchCursor {
  /** Position of the last scanned rollout. */
  readonly position: number;
  /** Its last returned span; null when the rollout was scanned completely. */
  readonly span: { readonly sequenceId: number; readonly spanId: string } | null;
}

const cursorSchema = z.union([z.tuple([z.int()]), z.tuple([z.int(), z.int(), z.string()])]);

/** Encodes a cursor as opaque text. */
function searchCursorText({ position, span }: SearchCursor): string {
  const fields = span === null ? [position] : [position, span.sequenceId, span.spanId];
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/**
 * Parses a cursor from a client.
 *
 * @throws ValidationError when it is invalid
 */
function parseSearchCursor(text: string): SearchCursor {
  const parsed = cursorSchema.safeParse(fieldsOf(text));
  if (!parsed.success) {
    const message = `${JSON.stringify(text.slice(0, 80))} is not the nextCursor of a search`;
    throw new ValidationError('Search', [{ path: 'cursor', message }], parsed.error);
  }
  const [position, sequenceId, spanId] = parsed.data;
  return { position, span: sequenceId === undefined || spanId === undefined ? null : { sequenceId, spanId } };
}

function fieldsOf(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return null;
  }
}

const defaultLimit = 100;
const maxLimit = 1000;
/** Approximate number of spans scanned per call; at least the rest of one rollout. */
const spansPerCall = 20_000;
/** Number of rollouts scanned per call. */
const rolloutsPerCall = 1000;

/**
 * Searches spans across rollouts, ordered by rollout and by span within a rollout. It scans two indexes from the
 * cursor, so the cost of a page is independent of its offset.
 *
 * @throws NotFoundError when the run does not exist
 * @throws ValidationError for an invalid limit or cursor
 */
export async function searchSpans(context: OperationContext, search: SpanSearch): Promise<SpanSearchPage> {
  const { limit = defaultLimit, sortOrder = 'asc', runId } = search;
  assertSearch(limit, sortOrder);
  const start = search.cursor === undefined ? null : parseSearchCursor(search.cursor);
  if (runId !== undefined) await loadRun(context, runId);
  const scan: Scan = {
    context,
    search,
    direction: directions[sortOrder],
    filters: filtersOf(context, search),
    mark: markOf(search),
  };
  const rest = start?.span == null ? [] : await restOfRollout(scan, start, limit);
  if (rest.length === limit) return pageOf(context, rest, cursorAfter(rest.at(-1)));
  const window = await nextRollouts(scan, start);
  const found = window === null ? [] : await spansOf(scan, window, limit - rest.length);
  const rows = [...rest, ...found];
  if (rows.length === limit) return pageOf(context, rows, cursorAfter(rows.at(-1)));
  return pageOf(context, rows, window?.isLast === false ? { position: window.to, span: null } : null);
}

interface Direction {
  readonly word: 'ASC' | 'DESC';
  readonly beyond: '>' | '<';
  readonly upTo: '<=' | '>=';
}

const directions = {
  asc: { word: 'ASC', beyond: '>', upTo: '<=' },
  desc: { word: 'DESC', beyond: '<', upTo: '>=' },
} as const satisfies Record<string, Direction>;

interface Scan {
  readonly context: OperationContext;
  readonly search: SpanSearch;
  readonly direction: Direction;
  readonly filters: readonly SqlCondition[];
  /** The mark that rollouts must have; null for any rollout. */
  readonly mark: string | null;
}

/** The position range of rollouts that one call scans. */
interface RolloutWindow {
  readonly beyond: number | null;
  readonly to: number;
  /** Whether it is the last range. */
  readonly isLast: boolean;
}

/** The remaining spans of the rollout within which the previous page ended. */
function restOfRollout(scan: Scan, start: SearchCursor, limit: number): Promise<readonly SqlRow[]> {
  const { beyond, word } = scan.direction;
  const { sequenceId, spanId } = start.span ?? { sequenceId: 0, spanId: '' };
  const where = allOf([
    ...scopeOf(scan),
    equals('r.position', start.position),
    { sql: `(s.sequence_id, s.span_id) ${beyond} (?, ?)`, parameters: [sequenceId, spanId] },
    ...scan.filters,
  ]);
  return scan.context.db.all(
    `SELECT s.*, r.position AS rollout_position FROM rollouts AS r CROSS JOIN spans AS s
     WHERE s.rollout_id = r.rollout_id AND ${where.sql} ORDER BY s.sequence_id ${word}, s.span_id ${word} LIMIT ?`,
    [...where.parameters, limit],
  );
}

/** The next rollouts, limited by the approximate number of spans per call; null after the last. */
async function nextRollouts(scan: Scan, start: SearchCursor | null): Promise<RolloutWindow | null> {
  const beyond = start?.position ?? null;
  const next = scan.mark === null ? unmarkedCandidates(scan, beyond) : markedCandidates(scan, { beyond, to: null });
  const rows = await scan.context.db.all(
    `SELECT n.position, coalesce(c.last_sequence_id, 0) AS spans FROM (${next.sql}) AS n
     JOIN rollouts AS r ON r.position = n.position LEFT JOIN span_counters AS c ON c.rollout_id = r.rollout_id
     ORDER BY n.position ${scan.direction.word} LIMIT ?`,
    [...next.parameters, rolloutsPerCall],
  );
  let spans = 0;
  for (const [index, row] of rows.entries()) {
    spans += readInteger(row, 'spans');
    const isLast = index === rows.length - 1 && rows.length < rolloutsPerCall;
    if (spans >= spansPerCall || index === rows.length - 1) return { beyond, to: readInteger(row, 'position'), isLast };
  }
  return null;
}

/** `CROSS JOIN` fixes the join order in SQLite: first the few rollouts, then the spans of each. */
function spansOf(scan: Scan, window: RolloutWindow, limit: number): Promise<readonly SqlRow[]> {
  const { upTo, word } = scan.direction;
  const where = allOf([
    ...scopeOf(scan),
    ...isBeyond(scan, window.beyond),
    { sql: `r.position ${upTo} ?`, parameters: [window.to] },
    ...isMarked(scan, window),
    ...scan.filters,
  ]);
  return scan.context.db.all(
    `SELECT s.*, r.position AS rollout_position FROM rollouts AS r CROSS JOIN spans AS s
     WHERE s.rollout_id = r.rollout_id AND ${where.sql} ORDER BY r.position ${word}, s.sequence_id ${word}, s.span_id ${word} LIMIT ?`,
    [...where.parameters, limit],
  );
}

/** The positions of the next rollouts. */
function unmarkedCandidates(scan: Scan, beyond: number | null): SqlCondition {
  const where = allOf([...scopeOf(scan), ...isBeyond(scan, beyond)]);
  const order = `ORDER BY r.position ${scan.direction.word} LIMIT ${rolloutsPerCall}`;
  return { sql: `SELECT r.position FROM rollouts AS r WHERE ${where.sql} ${order}`, parameters: where.parameters };
}

/** The positions of the next rollouts with the mark: a call's number, or up to a position. */
function markedCandidates(
  { mark, direction }: Scan,
  { beyond, to }: { readonly beyond: number | null; readonly to: number | null },
): SqlCondition {
  const range = allOf([
    ...(beyond === null ? [] : [{ sql: `position ${direction.beyond} ?`, parameters: [beyond] }]),
    ...(to === null ? [] : [{ sql: `position ${direction.upTo} ?`, parameters: [to] }]),
  ]);
  const next = `WHERE ${range.sql} ORDER BY position ${direction.word} LIMIT ${rolloutsPerCall}`;
  return {
    sql: `SELECT position FROM (SELECT position FROM span_marks WHERE mark = ?) AS m ${next}`,
    parameters: [mark, ...range.parameters],
  };
}

function isMarked(
  scan: Scan,
  window: { readonly beyond: number | null; readonly to: number | null },
): readonly SqlCondition[] {
  if (scan.mark === null) return [];
  const { sql, parameters } = markedCandidates(scan, window);
  return [{ sql: `r.position IN (${sql})`, parameters }];
}

function isBeyond(scan: Scan, position: number | null): readonly SqlCondition[] {
  if (position === null) return [];
  return [{ sql: `r.position ${scan.direction.beyond} ?`, parameters: [position] }];
}

function scopeOf({ context, search }: Scan): readonly SqlCondition[] {
  const conditions: SqlCondition[] = [];
  if (search.runId !== undefined) conditions.push(equals('r.run_id', search.runId));
  if (search.rolloutIdIn !== undefined) conditions.push(context.dialect.isOneOf('r.rollout_id', search.rolloutIdIn));
  return conditions;
}

function filtersOf({ dialect }: OperationContext, search: SpanSearch): readonly SqlCondition[] {
  const filters: SqlCondition[] = [];
  if (search.name !== undefined) filters.push(equals('s.name', search.name));
  if (search.nameContains !== undefined) filters.push(dialect.contains('s.name', search.nameContains));
  if (search.startTimeFromMs !== undefined) {
    filters.push({ sql: 's.start_time_ms >= ?', parameters: [search.startTimeFromMs] });
  }
  if (search.startTimeBeforeMs !== undefined) {
    filters.push({ sql: 's.start_time_ms < ?', parameters: [search.startTimeBeforeMs] });
  }
  if (search.statusIn !== undefined) filters.push(hasStatus(dialect, search.statusIn));
  for (const [name, value] of Object.entries(search.attributes ?? {})) {
    const forms = storedForms(typeof value === 'object' ? [...value] : value);
    const column = dialect.member('s.body', 'attributes');
    filters.push(
      joinFilters(
        forms.map((form) => dialect.hasField(column, { name, value: form })),
        'or',
      ),
    );
  }
  return filters;
}

function hasStatus(dialect: OperationContext['dialect'], codes: readonly string[]): SqlCondition {
  if (codes.length === 0) return { sql: 'FALSE', parameters: [] };
  const column = dialect.member('s.body', 'status');
  return joinFilters(
    codes.map((value) => dialect.hasField(column, { name: 'code', value })),
    'or',
  );
}

async function pageOf(
  context: OperationContext,
  rows: readonly SqlRow[],
  next: SearchCursor | null,
): Promise<SpanSearchPage> {
  const items = (await withContents(context, rows, 'body')).map(spanFromRow);
  return { items, nextCursor: next === null ? null : searchCursorText(next) };
}

function cursorAfter(row: SqlRow | undefined): SearchCursor | null {
  if (row === undefined) return null;
  const span = { sequenceId: readInteger(row, 'sequence_id'), spanId: readText(row, 'span_id') };
  return { position: readInteger(row, 'rollout_position'), span };
}

function assertSearch(limit: number, sortOrder: unknown): void {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > maxLimit) {
    const message = `must be an integer from 1 to ${maxLimit}, got ${limit}`;
    throw new ValidationError('Search', [{ path: 'limit', message }]);
  }
  if (sortOrder !== 'asc' && sortOrder !== 'desc') {
    throw new ValidationError('Search', [
      { path: 'sortOrder', message: `must be asc or desc, got ${String(sortOrder)}` },
    ]);
  }
}
