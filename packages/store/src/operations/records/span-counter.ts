import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger } from '../../sql/row-value.ts';

/** The last assigned sequence id of a rollout's spans; 0 when it has none. */
export async function lastSequenceId({ db }: OperationContext, rolloutId: string): Promise<number> {
  const [row] = await db.all('SELECT last_sequence_id FROM span_counters WHERE rollout_id = ?', [rolloutId]);
  return row === undefined ? 0 : readInteger(row, 'last_sequence_id');
}

/** Writes the last assigned sequence id of a rollout's spans. */
export async function writeSequenceId({ db }: OperationContext, rolloutId: string, last: number): Promise<void> {
  await db.run(
    `INSERT INTO span_counters (rollout_id, last_sequence_id) VALUES (?, ?)
     ON CONFLICT (rollout_id) DO UPDATE SET last_sequence_id = excluded.last_sequence_id`,
    [rolloutId, last],
  );
}
