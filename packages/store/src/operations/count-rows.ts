import type { StoreStatistics } from '@agentlightning/core/store';
import type { OperationContext } from '../operation.ts';
import { readInteger } from '../rows/row-value.ts';

/** Counts the rows of the store. */
export async function countRows(context: OperationContext): Promise<Omit<StoreStatistics, 'name' | 'uptimeMs'>> {
  const [row] = await context.db.all(`SELECT
    (SELECT count(*) FROM rollouts) AS rollouts,
    (SELECT count(*) FROM attempts) AS attempts,
    (SELECT count(*) FROM spans) AS spans,
    (SELECT count(*) FROM resources) AS resources,
    (SELECT count(*) FROM workers) AS workers`);
  const counted = row ?? {};
  return {
    totalRollouts: readInteger(counted, 'rollouts'),
    totalAttempts: readInteger(counted, 'attempts'),
    totalSpans: readInteger(counted, 'spans'),
    totalResources: readInteger(counted, 'resources'),
    totalWorkers: readInteger(counted, 'workers'),
  };
}
