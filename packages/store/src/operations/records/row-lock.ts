import type { OperationContext } from '../../sql/operation-runner.ts';

const lockKeys = { rollouts: 'rollout_id', runs: 'run_id', workers: 'worker_id', contents: 'digest' } as const;

/**
 * Locks rows until the transaction ends. The lock of a rollout covers its attempts, spans, span counter and queue
 * entry. To avoid deadlocks, rollouts are locked before workers and contents, and rows of a table in key order.
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
