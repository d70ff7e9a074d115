import { comparableJsonOf } from '../drivers/postgres-json.ts';
import type { Migration } from '../migration.ts';

/** Indices of rollouts by any piece of their ids, and by the fields of their metadata. */
export const piecesAndFields: Migration = {
  version: 7,
  name: 'pieces of ids and fields of metadata',
  statements: ({ name }) => (name === 'postgres' ? postgresIndices : sqliteIndices),
};

/**
 * Full-text tables without the text, and a list of the rollouts that are not in them yet. To put a rollout into them by
 * itself would cost as much as all the rest of writing it; many at once cost little. Until somebody does (`indexRollouts`),
 * those on the list are looked at one by one. So are, for a while, all that a store has when it comes to this version.
 */
const sqliteIndices = [
  `CREATE VIRTUAL TABLE rollout_id_pieces USING fts5 (
    rollout_id, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
  )`,
  `CREATE VIRTUAL TABLE rollout_fields USING fts5 (
    fields, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
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
  'INSERT INTO rollouts_to_index (position) SELECT position FROM rollouts',
];

/**
 * PostgreSQL's inverted indices, which have such a list within them. That of ids needs the extension `pg_trgm`, which comes
 * with PostgreSQL; where it cannot be had, lists by a piece of the id look at every rollout. It may be in any schema.
 */
const postgresIndices = [
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
  `CREATE INDEX rollouts_by_field ON rollouts USING gin ((${comparableJsonOf('metadata')}) jsonb_path_ops)`,
];
