import type { Migration } from '../migration.ts';

/**
 * The rollouts whose id does not begin as those that are given out do. Lists by a piece of that beginning are counted as
 * all rollouts less those of these that do not hold it: an index of pieces counts a million of them one by one.
 */
export const idsOfTheirOwn: Migration = {
  version: 9,
  name: 'ids of their own',
  statements: ({ name }) =>
    name === 'postgres'
      ? []
      : ["CREATE INDEX rollouts_named_otherwise ON rollouts (rollout_id) WHERE substr(rollout_id, 1, 3) <> 'ro-'"],
};
