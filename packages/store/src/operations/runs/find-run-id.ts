import type { OperationContext } from '../../operation.ts';
import { readTextOrNull } from '../../rows/row-value.ts';

/** The run of a rollout; null when it has none or the rollout does not exist. */
export async function findRunId(context: OperationContext, rolloutId: string): Promise<string | null> {
  const [row] = await context.db.all('SELECT run_id FROM rollouts WHERE rollout_id = ?', [rolloutId]);
  return row === undefined ? null : readTextOrNull(row, 'run_id');
}
