import type { OperationContext } from '../operation.ts';
import { readInteger } from '../row-value.ts';
import { markEarlierRollouts } from './span-marks.ts';

/** How many rollouts one transaction takes: few enough for others not to wait. */
const rolloutsPerBatch = 500;

/** Whether there are rollouts that an index does not have yet. */
export async function hasRolloutsToIndex({ db, dialect }: OperationContext): Promise<boolean> {
  const lists =
    dialect.indexRolloutsUpTo.length === 0 ? ['rollouts_to_mark'] : ['rollouts_to_index', 'rollouts_to_mark'];
  for (const list of lists) if ((await db.all(`SELECT position FROM ${list} LIMIT 1`)).length > 0) return true;
  return false;
}

/** Puts some of the rollouts that an index does not have yet into it; says how many. */
export async function indexRollouts(context: OperationContext): Promise<number> {
  return (await indexIdsAndFields(context)) + (await markEarlierRollouts(context));
}

async function indexIdsAndFields({ db, dialect }: OperationContext): Promise<number> {
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
