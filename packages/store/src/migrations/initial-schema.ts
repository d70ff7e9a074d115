import type { Migration } from '../sql/migration.ts';
import type { SqlDialect } from '../sql/sql-dialect.ts';
import { rolloutIndexes } from './rollout-indexes.ts';
import { tables } from './tables.ts';

/** Version 1 of the schema. */
export const initialSchema: Migration = {
  version: 1,
  name: 'initial schema',
  statements: (dialect) => [
    ...tables(dialect),
    ...rolloutIndexes(dialect),
    ...(dialect.keepsCounts ? rolloutCounts(dialect) : []),
  ],
};

/** Triggers that count rollouts by run, mode and status. The empty text stands for null, which a key cannot hold. */
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
    `CREATE TRIGGER count_new_rollout AFTER INSERT ON rollouts BEGIN ${add('new', 1)} END`,
    `CREATE TRIGGER count_deleted_rollout AFTER DELETE ON rollouts BEGIN ${add('old', -1)} END`,
    `CREATE TRIGGER count_changed_rollout AFTER UPDATE OF run_id, mode, status ON rollouts
     BEGIN ${add('old', -1)} ${add('new', 1)} END`,
  ];
}
