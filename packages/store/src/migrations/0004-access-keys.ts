import type { Migration } from '../migration.ts';

/** The keys that clients of a server carry: their digests, never the keys. */
export const accessKeys: Migration = {
  version: 4,
  name: 'access keys',
  statements: ({ columnTypes: { real, text } }) => [
    `CREATE TABLE access_keys (
      key_id ${text} PRIMARY KEY,
      name ${text} NOT NULL,
      scope ${text} NOT NULL,
      key_digest ${text} NOT NULL,
      create_time_ms ${real} NOT NULL,
      expire_time_ms ${real},
      revoke_time_ms ${real}
    )`,
  ],
};
