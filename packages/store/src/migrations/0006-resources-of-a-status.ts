import type { Migration } from '../migration.ts';

/** An index for the rollouts of one status by their resources. */
export const resourcesOfAStatus: Migration = {
  version: 6,
  name: 'resources of a status',
  statements: ({ name }) => {
    const first = name === 'postgres' ? ' NULLS FIRST' : '';
    return [`CREATE INDEX rollouts_by_status_and_resources ON rollouts (status, resources_id${first}, position)`];
  },
};
