import type { Migration } from '../migration.ts';

/** Version 2 of the schema: leases of workers. */
export const workerLeases: Migration = {
  version: 2,
  name: 'worker leases',
  statements: ({ columnTypes: { real } }) => [`ALTER TABLE workers ADD COLUMN lease_ms ${real}`],
};
