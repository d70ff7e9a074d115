import type { Migration } from '../migration.ts';
import type { SqlDialect } from '../sql-dialect.ts';

/** Indices along which the first page of a list is read, however long it is, and counts of what is too much to count. */
export const longLists: Migration = {
  version: 3,
  name: 'long lists',
  statements: (dialect) => [...sortIndices(dialect), ...(dialect.keepsCounts ? rolloutCounts(dialect) : [])],
};

/** One index for every order of the rollouts, also of those of one status or one run. */
function sortIndices({ name }: SqlDialect): readonly string[] {
  // Lists begin with what has no value. SQLite's indices do so by themselves.
  const first = name === 'postgres' ? ' NULLS FIRST' : '';
  return [
    `CREATE INDEX rollouts_by_start_time ON rollouts (start_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_end_time ON rollouts (end_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_mode ON rollouts (mode${first}, position)`,
    `CREATE INDEX rollouts_by_status_and_start_time ON rollouts (status, start_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_status_and_end_time ON rollouts (status, end_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_run_and_start_time ON rollouts (run_id, start_time_ms${first}, position)`,
    // Serves what 'rollouts_by_end' does, and orders by end time too.
    'DROP INDEX rollouts_by_end',
    `CREATE INDEX rollouts_by_run_and_end_time ON rollouts (run_id, end_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_run_and_mode ON rollouts (run_id, mode${first}, position)`,
    'CREATE INDEX rollouts_by_run_and_status ON rollouts (run_id, status, position)',
  ];
}

/** The number of rollouts by run, mode and status; the empty text stands for none, because a key has no null. */
function rolloutCounts({ columnTypes: { integer, text } }: SqlDialect): readonly string[] {
  const keyOf = (row: 'new' | 'old'): string => `coalesce(${row}.run_id, ''), coalesce(${row}.mode, ''), ${row}.status`;
  const add = (row: 'new' | 'old', sign: 1 | -1): string =>
    `INSERT INTO rollout_counts (run_id, mode, status, rollouts) VALUES (${keyOf(row)}, ${sign})
       ON CONFLICT (run_id, mode, status) DO UPDATE SET rollouts = rollouts + excluded.rollouts;`;
  return [
    `CREATE TABLE rollout_counts (
      run_id ${text} NOT NULL,
      mode ${text} NOT NULL,
      status ${text} NOT NULL,
      rollouts ${integer} NOT NULL,
      PRIMARY KEY (run_id, mode, status)
    )`,
    `INSERT INTO rollout_counts (run_id, mode, status, rollouts)
     SELECT coalesce(run_id, ''), coalesce(mode, ''), status, count(*) FROM rollouts GROUP BY 1, 2, 3`,
    `CREATE TRIGGER count_new_rollout AFTER INSERT ON rollouts BEGIN ${add('new', 1)} END`,
    `CREATE TRIGGER count_deleted_rollout AFTER DELETE ON rollouts BEGIN ${add('old', -1)} END`,
    `CREATE TRIGGER count_changed_rollout AFTER UPDATE OF run_id, mode, status ON rollouts
     BEGIN ${add('old', -1)} ${add('new', 1)} END`,
  ];
}
