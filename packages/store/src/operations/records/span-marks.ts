import type { SpanSearch } from '@agentlightning/core/store';
import type { SpanRow } from '../../rows/span-row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import type { SqlValue } from '../../sql/sql-dialect.ts';

/** Maximum characters of a name in its mark. */
const nameLength = 100;
/** The mark of rollouts with a failed span; may include false positives. */
const failedMark = 'e';
const failedText = '"code":"ERROR"';
const statusStart = '{"status":{"code":';
const errorStart = '{"status":{"code":"ERROR"';
const markTable = {
  table: 'span_marks',
  columns: { mark: 'text', position: 'integer' },
  unlessKnown: ['mark', 'position'],
} as const;

/** The mark that rollouts with matches of a search must have; null for a search without one. */
export function markOf({ name, statusIn, runId, rolloutIdIn }: SpanSearch): string | null {
  // A run or a list of rollouts already limits the scan.
  if (runId !== undefined || rolloutIdIn !== undefined) return null;
  if (name !== undefined) return nameMark(name);
  return statusIn?.length === 1 && statusIn[0] === 'ERROR' ? failedMark : null;
}

/** The only mark that a span adds; null when it adds several. */
export function onlyMarkOf(row: SpanRow): string | null {
  return mayHaveFailed(row[9]) ? null : nameMark(row[6]);
}

/** Marks the rollouts in `positions` by their new spans. */
export function markRollouts(
  { db }: OperationContext,
  rows: readonly SpanRow[],
  positions: ReadonlyMap<string, number>,
): Promise<void> {
  return insertMarks(db, marksOf(rows, positions));
}

function insertMarks(db: OperationContext['db'], rows: readonly SqlValue[][]): Promise<void> {
  return db.insert(markTable, rows);
}

/** The mark rows of new spans. */
interface SeenSpans {
  readonly rolloutId: string;
  readonly names: Set<string>;
  hasFailed: boolean;
}

function marksOf(rows: readonly SpanRow[], positions: ReadonlyMap<string, number>): readonly SqlValue[][] {
  return [...seenIn(rows).values()].flatMap(({ rolloutId, names, hasFailed }) => {
    const position = positions.get(rolloutId);
    if (position === undefined) return [];
    const marks = [...names].map(nameMark);
    return (hasFailed ? [...marks, failedMark] : marks).map((mark) => [mark, position]);
  });
}

function seenIn(rows: readonly SpanRow[]): ReadonlyMap<string, SeenSpans> {
  const seen = new Map<string, SeenSpans>();
  // The spans of a request mostly belong to one rollout, and many have the same name.
  let last: SeenSpans = { rolloutId: '', names: new Set(), hasFailed: false };
  let lastName: string | null = null;
  for (const row of rows) {
    const rolloutId = row[0];
    if (rolloutId !== last.rolloutId || lastName === null) {
      last = seen.get(rolloutId) ?? { rolloutId, names: new Set(), hasFailed: false };
      seen.set(rolloutId, last);
      lastName = null;
    }
    if (row[6] !== lastName) {
      lastName = row[6];
      last.names.add(lastName);
    }
    if (!last.hasFailed) last.hasFailed = mayHaveFailed(row[9]);
  }
  return seen;
}

/** Whether a span may have failed. Bodies start with the status; others are searched completely. */
function mayHaveFailed(body: string): boolean {
  return body.startsWith(statusStart) ? body.startsWith(errorStart) : body.includes(failedText);
}

function nameMark(name: string): string {
  return `n${name.length <= nameLength ? name : [...name].slice(0, nameLength).join('')}`;
}

/** The positions of rollouts by id. */
export async function positionsOf(
  { db, dialect }: OperationContext,
  rolloutIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const those = dialect.isOneOf('rollout_id', rolloutIds);
  const rows = await db.all(`SELECT rollout_id, position FROM rollouts WHERE ${those.sql}`, those.parameters);
  return new Map(rows.map((row) => [readText(row, 'rollout_id'), readInteger(row, 'position')]));
}

/** Deletes the marks of rollouts; call it before their spans are deleted. */
export async function unmarkRollouts({ db, dialect }: OperationContext, rolloutIds: readonly string[]): Promise<void> {
  const those = dialect.isOneOf('r.rollout_id', rolloutIds);
  const marked = `SELECT DISTINCT 'n' || substr(s.name, 1, ${nameLength}), r.position
    FROM rollouts AS r JOIN spans AS s ON s.rollout_id = r.rollout_id WHERE ${those.sql}`;
  const positions = `SELECT r.position FROM rollouts AS r WHERE ${those.sql}`;
  await db.run(`DELETE FROM span_marks WHERE (mark, position) IN (${marked})`, those.parameters);
  await db.run(`DELETE FROM span_marks WHERE mark = '${failedMark}' AND position IN (${positions})`, those.parameters);
}
