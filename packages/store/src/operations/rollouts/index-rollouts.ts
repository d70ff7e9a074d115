import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger } from '../../sql/row-value.ts';

/** Rollouts per transaction: few enough not to delay others. */
const rolloutsPerBatch = 500;

/** Whether there are rollouts that the full-text indexes lack. */
export async function hasRolloutsToIndex({ db, dialect }: OperationContext): Promise<boolean> {
  if (dialect.indexRolloutsUpTo.length === 0) return false;
  return (await db.all('SELECT position FROM rollouts_to_index LIMIT 1')).length > 0;
}

/** Adds a batch of rollouts to the full-text indexes, and returns their number. */
export async function indexRollouts({ db, dialect }: OperationContext): Promise<number> {
  if (dialect.indexRolloutsUpTo.length === 0) return 0;
  const [row] = await db.all(
    `SELECT count(*) AS rollouts, coalesce(max(position), 0) AS last
     FROM (SELECT position FROM rollouts_to_index ORDER BY position LIMIT ?)`,
    [rolloutsPerBatch],
  );
  const rollouts = row === undefined ? 0 : readInteger(row, 'rollouts');
  if (row === undefined || rollouts === 0) return 0;
  for (const statement of dialect.indexRolloutsUpTo) await db.run(statement, [readInteger(row, 'last')]);
  return rollouts;
}
