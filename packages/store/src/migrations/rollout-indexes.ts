/**
 * The protocol requires the exact total of a filtered list, so a filter by part of an id or by metadata scanned every rollout:
 * 407 ms for one million. A B-tree of all substrings has a dozen entries per rollout, spread over the file. SQLite has
 * contentless full-text tables instead, of the trigrams of ids and of one token per field of the metadata; PostgreSQL has GIN
 * indexes. Values that a token does not represent exactly (long texts, lists, fractions) are checked in the rollout. Without
 * `pg_trgm`, lists by part of an id scan all ids.
 *
 * Spans have no index across rollouts: `span_marks` has each span name once per rollout, and whether a span failed, so a search
 * by name or failure reads only marked rollouts.
 *
 * @module
 */
import { comparableJsonOf } from '../sql/postgres-json.ts';
import type { SqlDialect } from '../sql/sql-dialect.ts';

/** The indexes of rollouts: one for each order of a list, and those for substrings of ids and fields of metadata. */
export function rolloutIndexes(dialect: SqlDialect): readonly string[] {
  return [...sortIndexes(dialect), ...(dialect.name === 'postgres' ? postgresIndexes : sqliteIndexes)];
}

/** One index for each order, also within one status and within one run. */
function sortIndexes({ name }: SqlDialect): readonly string[] {
  // Lists start with rows that have no value. SQLite's indexes sort so by default.
  const first = name === 'postgres' ? ' NULLS FIRST' : '';
  return [
    'CREATE INDEX rollouts_by_run ON rollouts (run_id, position)',
    'CREATE INDEX rollouts_by_status ON rollouts (status, position)',
    `CREATE INDEX rollouts_by_start_time ON rollouts (start_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_end_time ON rollouts (end_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_mode ON rollouts (mode${first}, position)`,
    `CREATE INDEX rollouts_by_resources ON rollouts (resources_id${first}, position)`,
    `CREATE INDEX rollouts_by_status_and_id ON rollouts (status, rollout_id${first}, position)`,
    `CREATE INDEX rollouts_by_status_and_start_time ON rollouts (status, start_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_status_and_end_time ON rollouts (status, end_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_status_and_mode ON rollouts (status, mode${first}, position)`,
    `CREATE INDEX rollouts_by_status_and_resources ON rollouts (status, resources_id${first}, position)`,
    `CREATE INDEX rollouts_by_run_and_start_time ON rollouts (run_id, start_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_run_and_end_time ON rollouts (run_id, end_time_ms${first}, position)`,
    `CREATE INDEX rollouts_by_reward ON rollouts (reward${first}, position)`,
    `CREATE INDEX rollouts_by_run_and_reward ON rollouts (run_id, reward${first}, position)`,
    'CREATE INDEX rollouts_by_label ON rollouts (label, position) WHERE label IS NOT NULL',
    `CREATE INDEX rollouts_by_run_and_mode ON rollouts (run_id, mode${first}, position)`,
    'CREATE INDEX rollouts_by_run_and_status ON rollouts (run_id, status, position)',
  ];
}

/**
 * Full-text tables without their text, and the list of rollouts that are not in them yet. Indexing rollouts one by one
 * costs as much as all other writes of a rollout; in batches it costs little. Rollouts on the list are scanned until
 * `indexRollouts` takes them.
 */
const sqliteIndexes = [
  `CREATE VIRTUAL TABLE rollout_id_pieces USING fts5 (
    rollout_id, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
  )`,
  `CREATE VIRTUAL TABLE rollout_fields USING fts5 (
    fields, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
  )`,
  // Words without their positions in the text: phrases cannot be searched. The words are separated by spaces.
  `CREATE VIRTUAL TABLE rollout_words USING fts5 (
    words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
  )`,
  'CREATE TABLE rollouts_to_index (position INTEGER PRIMARY KEY)',
  `CREATE TRIGGER index_new_rollout AFTER INSERT ON rollouts BEGIN
    INSERT INTO rollouts_to_index (position) VALUES (new.position);
  END`,
  `CREATE TRIGGER index_changed_rollout AFTER UPDATE OF metadata ON rollouts BEGIN
    DELETE FROM rollout_id_pieces WHERE rowid = old.position;
    DELETE FROM rollout_fields WHERE rowid = old.position;
    INSERT OR IGNORE INTO rollouts_to_index (position) VALUES (new.position);
  END`,
  `CREATE TRIGGER index_deleted_rollout AFTER DELETE ON rollouts BEGIN
    DELETE FROM rollout_id_pieces WHERE rowid = old.position;
    DELETE FROM rollout_fields WHERE rowid = old.position;
    DELETE FROM rollouts_to_index WHERE position = old.position;
  END`,
  /*
   * Rollouts whose id does not start with the prefix of generated ids. A list by a substring of that prefix is counted as
   * all rollouts minus those of this index that lack it: the full-text table would count every rollout one by one.
   */
  "CREATE INDEX rollouts_named_otherwise ON rollouts (rollout_id) WHERE substr(rollout_id, 1, 3) <> 'ro-'",
];

/**
 * Inverted indexes. The one of ids needs the extension `pg_trgm`, which comes with PostgreSQL and may be in any schema;
 * without it, a list by a substring of the id scans every rollout.
 */
const postgresIndexes = [
  `DO $$ BEGIN
    BEGIN
      CREATE EXTENSION IF NOT EXISTS pg_trgm;
    EXCEPTION WHEN undefined_file OR feature_not_supported OR insufficient_privilege OR unique_violation OR duplicate_object THEN
      NULL;
    END;
    EXECUTE coalesce((
      SELECT format('CREATE INDEX rollouts_by_id_piece ON rollouts USING gin (rollout_id %I.gin_trgm_ops)', n.nspname)
      FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'
    ), 'SELECT 1');
  END $$`,
  // No reference to the rollout: indexing must not lock it. `rowid` is its position, as in SQLite.
  'CREATE TABLE rollout_words (rowid BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)',
  'CREATE INDEX rollout_words_by_word ON rollout_words USING gin (words)',
  `CREATE INDEX rollouts_by_field ON rollouts USING gin ((${comparableJsonOf('metadata')}) jsonb_path_ops)`,
];
