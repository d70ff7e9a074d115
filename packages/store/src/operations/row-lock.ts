import type { OperationContext } from '../operation.ts';

const lockKeys = { rollouts: 'rollout_id', runs: 'run_id', workers: 'worker_id' } as const;

/**
 * Holds rows until the transaction ends, so that what is read of them then stays true. Whoever locks a rollout holds
 * its attempts, spans, span counter and place in the queue with it. Rollouts are locked before workers, and several
 * of a kind in one order, so that two transactions do not wait for each other.
 */
export async function lockRows(
  context: OperationContext,
  table: keyof typeof lockKeys,
  ids: readonly string[],
): Promise<void> {
  const { dialect, db } = context;
  if (dialect.forUpdate === '' || ids.length === 0) return;
  const key = lockKeys[table];
  const those = dialect.isOneOf(key, [...new Set(ids)]);
  await db.all(`SELECT ${key} FROM ${table} WHERE ${those.sql} ORDER BY ${key} ${dialect.forUpdate}`, those.parameters);
}
