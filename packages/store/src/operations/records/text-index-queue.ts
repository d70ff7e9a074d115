import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger } from '../../sql/row-value.ts';

/** Lists finished rollouts for the text index: their text is new or has changed. */
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
