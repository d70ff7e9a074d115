import type { Migration } from '../migration.ts';

/** What the watchdog knows of time, and an index for finding what has ended long ago. */
export const timeAndRetention: Migration = {
  version: 2,
  name: 'time and retention',
  statements: ({ columnTypes: { real, text } }) => [
    `CREATE TABLE store_time (
      subject ${text} PRIMARY KEY,
      seen_ms ${real} NOT NULL,
      resumed_ms ${real}
    )`,
    'CREATE INDEX rollouts_by_end ON rollouts (run_id, end_time_ms) WHERE end_time_ms IS NOT NULL',
  ],
};
