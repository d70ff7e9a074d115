import type { Migration } from '../migration.ts';

/** Indices for the orders of rollouts that had none: by resources, and by id and mode within one status. */
export const moreOrders: Migration = {
  version: 5,
  name: 'more orders',
  statements: ({ name }) => {
    // As the other indices of lists have it: what has no value comes first.
    const first = name === 'postgres' ? ' NULLS FIRST' : '';
    return [
      `CREATE INDEX rollouts_by_resources ON rollouts (resources_id${first}, position)`,
      `CREATE INDEX rollouts_by_status_and_id ON rollouts (status, rollout_id${first}, position)`,
      `CREATE INDEX rollouts_by_status_and_mode ON rollouts (status, mode${first}, position)`,
    ];
  },
};
