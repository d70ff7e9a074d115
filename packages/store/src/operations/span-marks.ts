import type { SpanSearch } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { readInteger, readText } from '../row-value.ts';
import type { SpanRow } from '../span-row.ts';
import type { SqlValue } from '../sql-value.ts';

/** How much of a name is in its mark. */
const nameLength = 100;
/** What a rollout is marked with that has a span which failed, or one that looks like it. */
const failedMark = 'e';
const failedText = '"code":"ERROR"';
const statusStart = '{"status":{"code":';
const errorStart = '{"status":{"code":"ERROR"';
const markTable = {
  table: 'span_marks',
  columns: { mark: 'text', position: 'integer' },
  unlessKnown: ['mark', 'position'],
} as const;
/** How many rollouts, and about how many spans, one transaction marks that came before there were marks. */
const rolloutsPerBatch = 200;
const spansPerBatch = 2000;

/** The mark of those rollouts that a search may find something in; null when it may be any. */
export function markOf({ name, statusIn, runId, rolloutIdIn }: SpanSearch): string | null {
  // Within a run, or among named rollouts, there are fewer to look at.
  if (runId !== undefined || rolloutIdIn !== undefined) return null;
  if (name !== undefined) return nameMark(name);
  return statusIn?.length === 1 && statusIn[0] === 'ERROR' ? failedMark : null;
}

/** The mark that a span leaves, unless it leaves more than one: then null. */
export function onlyMarkOf(row: SpanRow): string | null {
  return mayHaveFailed(row[9]) ? null : nameMark(row[6]);
}

/** Marks rollouts, whose positions are given, by the spans that they get. */
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

/** What the rows of a rollout say of it. */
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
  // Spans that come together are mostly of one rollout, and many have one name.
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

/** Whether a span's body says so. Ours begin with the status, and only those of others are read to their ends. */
function mayHaveFailed(body: string): boolean {
  return body.startsWith(statusStart) ? body.startsWith(errorStart) : body.includes(failedText);
}

function nameMark(name: string): string {
  return `n${name.length <= nameLength ? name : [...name].slice(0, nameLength).join('')}`;
}

/** The positions of rollouts by their ids. */
export async function positionsOf(
  { db, dialect }: OperationContext,
  rolloutIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const those = dialect.isOneOf('rollout_id', rolloutIds);
  const rows = await db.all(`SELECT rollout_id, position FROM rollouts WHERE ${those.sql}`, those.parameters);
  return new Map(rows.map((row) => [readText(row, 'rollout_id'), readInteger(row, 'position')]));
}

/** Takes the marks of rollouts away, while their spans are still there. */
export async function unmarkRollouts({ db, dialect }: OperationContext, rolloutIds: readonly string[]): Promise<void> {
  const those = dialect.isOneOf('r.rollout_id', rolloutIds);
  const marked = `SELECT DISTINCT 'n' || substr(s.name, 1, ${nameLength}), r.position
    FROM rollouts AS r JOIN spans AS s ON s.rollout_id = r.rollout_id WHERE ${those.sql}`;
  const positions = `SELECT r.position FROM rollouts AS r WHERE ${those.sql}`;
  await db.run(`DELETE FROM span_marks WHERE (mark, position) IN (${marked})`, those.parameters);
  await db.run(`DELETE FROM span_marks WHERE mark = '${failedMark}' AND position IN (${positions})`, those.parameters);
  await db.run(`DELETE FROM rollouts_to_mark WHERE position IN (${positions})`, those.parameters);
}

/** Marks some of the rollouts that came before there were marks; says how many. */
export async function markEarlierRollouts({ db }: OperationContext): Promise<number> {
  const rows = await db.all(
    `SELECT n.position, coalesce(c.last_sequence_id, 0) AS spans FROM rollouts_to_mark AS n
     LEFT JOIN rollouts AS r ON r.position = n.position LEFT JOIN span_counters AS c ON c.rollout_id = r.rollout_id
     ORDER BY n.position LIMIT ?`,
    [rolloutsPerBatch],
  );
  let taken = 0;
  let to = 0;
  for (let spans = 0; taken < rows.length && spans < spansPerBatch; taken += 1) {
    const row = rows[taken] ?? {};
    spans += readInteger(row, 'spans');
    to = readInteger(row, 'position');
  }
  if (taken === 0) return 0;
  await insertMarks(db, await marksUpTo(db, to));
  await db.run('DELETE FROM rollouts_to_mark WHERE position <= ?', [to]);
  return taken;
}

/** The marks of the rollouts up to a position that have none yet. */
async function marksUpTo(db: OperationContext['db'], to: number): Promise<readonly SqlValue[][]> {
  // `CROSS JOIN` says in SQLite: in this order.
  const theirSpans = `rollouts_to_mark AS n CROSS JOIN rollouts AS r CROSS JOIN spans AS s
    WHERE n.position <= ? AND r.position = n.position AND s.rollout_id = r.rollout_id`;
  // Names are cut here and not by SQL, in which some end at a character 0.
  const named = await db.all(`SELECT DISTINCT s.name, r.position FROM ${theirSpans}`, [to]);
  const failed = await db.all(`SELECT DISTINCT r.position FROM ${theirSpans} AND s.body LIKE '%${failedText}%'`, [to]);
  const marks = [
    ...named.map((row) => [nameMark(readText(row, 'name')), readInteger(row, 'position')] as const),
    ...failed.map((row) => [failedMark, readInteger(row, 'position')] as const),
  ];
  // Two names may have one mark.
  return [...new Map(marks.map((mark) => [JSON.stringify(mark), [...mark]])).values()];
}
