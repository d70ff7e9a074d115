import type { Migration } from '../migration.ts';
import { rolloutCounts } from './rollout-counts.ts';
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
