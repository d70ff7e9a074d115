import type { JsonValue } from '@agentlightning/core';
import type { OperationContext } from '../../operation.ts';
import { readInteger, readJson, readText } from '../../rows/row-value.ts';
import { rolloutWords } from '../../text-search/rollout-words.ts';
import { readTraces } from '../spans/read-traces.ts';

/** Maximum number of rollouts per transaction; {@link readTraces} also limits their spans to about one MiB. */
const rolloutsPerBatch = 64;

/** Lists finished rollouts for {@link indexRolloutTexts}: their text is new or has changed. */
export async function requestTextIndex(
  { db, dialect }: OperationContext,
  rolloutIds: readonly string[],
): Promise<void> {
  const { sql, parameters } = dialect.isOneOf('rollout_id', rolloutIds);
  await db.run(
    `INSERT INTO rollouts_to_search (position) SELECT position FROM rollouts WHERE ${sql}
     ON CONFLICT (position) DO NOTHING`,
    parameters,
  );
}

/** Whether there are finished rollouts whose text is not indexed. */
export async function hasTextsToIndex({ db }: OperationContext): Promise<boolean> {
  return (await db.all('SELECT position FROM rollouts_to_search LIMIT 1')).length > 0;
}

/** Number of finished rollouts whose text is not indexed. */
export async function countTextsToIndex({ db }: OperationContext): Promise<number> {
  const [row] = await db.all('SELECT count(*) AS rollouts FROM rollouts_to_search');
  return row === undefined ? 0 : readInteger(row, 'rollouts');
}

/** Indexes the texts of a batch of finished rollouts, the newest first, and returns their number. */
export async function indexRolloutTexts(context: OperationContext): Promise<number> {
  const { db, dialect } = context;
  // Deleted before the spans are read: a span that is added meanwhile then lists its rollout again.
  const taken = await db.all(
    `DELETE FROM rollouts_to_search WHERE position IN (
       SELECT position FROM rollouts_to_search ORDER BY position DESC LIMIT ? ${dialect.skipLocked}
     ) RETURNING position`,
    [rolloutsPerBatch],
  );
  if (taken.length === 0) return 0;
  const positions = taken.map((row) => readInteger(row, 'position'));
  const rows = await db.all(
    `SELECT position, rollout_id, input FROM rollouts WHERE position IN (${positions.map(() => '?').join(', ')})`,
    positions,
  );
  const byId = new Map(rows.map((row) => [readText(row, 'rollout_id'), row]));
  if (byId.size === 0) return taken.length;
  const traces = await readTraces(context, [...byId.keys()]);
  for (const trace of traces) {
    const { rolloutId } = trace;
    const row = byId.get(rolloutId);
    if (row === undefined) continue;
    const words = rolloutWords(readJson<JsonValue>(row, 'input'), trace);
    const { sql, parameters } = dialect.writeRolloutWords(readInteger(row, 'position'), words);
    await db.run(sql, parameters);
    byId.delete(rolloutId);
  }
  if (byId.size > 0) await requestTextIndex(context, [...byId.keys()]);
  return taken.length - byId.size;
}

/** Removes the texts of rollouts from the index; call it before the rollouts are deleted. */
export async function removeTexts({ db, dialect }: OperationContext, rolloutIds: readonly string[]): Promise<void> {
  const { sql, parameters } = dialect.isOneOf('rollout_id', rolloutIds);
  const positions = `SELECT position FROM rollouts WHERE ${sql}`;
  await db.run(`DELETE FROM rollouts_to_search WHERE position IN (${positions})`, parameters);
  await db.run(`DELETE FROM rollout_words WHERE rowid IN (${positions})`, parameters);
}
