import type { Migration } from '../migration.ts';

/** Which rollouts have spans of which names, and which have failed ones: a search for rare spans looks at no others. */
export const spanMarks: Migration = {
  version: 8,
  name: 'span marks',
  statements: ({ name, columnTypes: { text } }) => {
    const integer = name === 'postgres' ? 'BIGINT' : 'INTEGER';
    return [
      `CREATE TABLE span_marks (
        mark ${text} NOT NULL,
        position ${integer} NOT NULL,
        PRIMARY KEY (mark, position)
      )${name === 'sqlite' ? ' WITHOUT ROWID' : ''}`,
      // Those that have spans and no marks yet, see `markRollouts`. A search looks at all of them.
      `CREATE TABLE rollouts_to_mark (position ${integer} PRIMARY KEY)`,
      `INSERT INTO rollouts_to_mark (position)
       SELECT position FROM rollouts WHERE rollout_id IN (SELECT rollout_id FROM span_counters)`,
    ];
  },
};
