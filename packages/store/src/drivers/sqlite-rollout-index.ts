import type { JsonValue } from '@agentlightning/core';
import type { IndexedPositions, SqlCondition } from '../sql/sql-dialect.ts';
import type { SearchWord } from '../text-search/search-words.ts';

/** Maximum characters of a name or value in its token. */
const tokenLength = 64;

// Letters and digits only: names and values cannot contain delimiters, quotes or query operators.
// Do not change it: the tables contain these tokens.
const fieldToken = `hex(substr(key, 1, ${tokenLength})) || 'x' || type || 'x' || coalesce(hex(substr(value, 1, ${tokenLength})), '')`;

/** Adds the rollouts of `rollouts_to_index` up to a position to the full-text tables. */
export const indexRolloutsUpTo: readonly string[] = [
  `INSERT OR REPLACE INTO rollout_id_pieces (rowid, rollout_id)
   SELECT r.position, r.rollout_id FROM rollouts_to_index AS n CROSS JOIN rollouts AS r
   WHERE n.position <= ? AND r.position = n.position`,
  `INSERT OR REPLACE INTO rollout_fields (rowid, fields)
   SELECT r.position, (SELECT group_concat(${fieldToken}, ' ') FROM json_each(r.metadata))
   FROM rollouts_to_index AS n CROSS JOIN rollouts AS r
   WHERE n.position <= ? AND r.position = n.position AND r.metadata IS NOT NULL`,
  'DELETE FROM rollouts_to_index WHERE position <= ?',
];

/**
 * Prefix of generated ids and condition of the partial index of other ids. Do not change them: the schema uses both.
 */
const generatedPrefix = 'ro-';
const hasCustomId = "substr(rollout_id, 1, 3) <> 'ro-'";
/** Maximum number of rollouts with other ids that are scanned. */
const maxScannedIds = 10_000;

/** The rollouts whose id contains a text; null for a text that is too short for the index. */
export function positionsBySubstring(text: string, condition: SqlCondition): IndexedPositions | null {
  const indexed = indexedBySubstring(text, condition);
  return generatedPrefix.includes(text) ? byGeneratedPrefix(text, { indexed, condition }) : indexed;
}

function indexedBySubstring(text: string, condition: SqlCondition): IndexedPositions | null {
  // A full-text query ends at U+0000.
  if ([...text].length < 3 || text.includes('\0')) return null;
  const phrase = `"${text.replaceAll('"', '""')}"`;
  return positionsOf({ sql: 'rollout_id_pieces WHERE rollout_id_pieces MATCH ?', parameters: [phrase] }, condition);
}

/** Index lookup whose count is all rollouts minus the few that lack the text. */
function byGeneratedPrefix(
  text: string,
  { indexed, condition }: { readonly indexed: IndexedPositions | null; readonly condition: SqlCondition },
): IndexedPositions {
  const { count, all, first } = indexed ?? byScan(condition);
  const others = `SELECT 1 FROM rollouts WHERE ${hasCustomId} LIMIT ${maxScannedIds + 1}`;
  const lacking = `SELECT count(*) FROM rollouts WHERE ${hasCustomId} AND instr(rollout_id, ?) = 0`;
  return {
    count: {
      sql: `SELECT CASE WHEN (SELECT count(*) FROM (${others})) > ${maxScannedIds} THEN (${count.sql})
        ELSE (SELECT coalesce(sum(rollouts), 0) FROM rollout_counts) - (${lacking}) END AS total`,
      parameters: [...count.parameters, text],
    },
    all,
    first,
  };
}

/** The rollouts that meet a condition, found by a scan, which finds the first ones quickly when most rollouts match. */
function byScan({ sql, parameters }: SqlCondition): IndexedPositions {
  const met = `FROM rollouts AS r WHERE ${sql}`;
  return {
    count: { sql: `SELECT count(*) AS total ${met}`, parameters },
    all: { sql: `SELECT r.position ${met}`, parameters },
    first: (direction, count) => ({
      sql: `SELECT * FROM (SELECT r.position ${met} ORDER BY r.position ${direction} LIMIT ?)`,
      parameters: [...parameters, count],
    }),
  };
}

/** The finished rollouts that contain all of the words. */
export function positionsByWords(words: readonly SearchWord[]): IndexedPositions {
  const query = words.map(({ word, isPrefix }) => `"${word}"${isPrefix ? '*' : ''}`).join(' AND ');
  const found = 'rollout_words WHERE rollout_words MATCH ?';
  return {
    count: { sql: `SELECT count(*) AS total FROM ${found}`, parameters: [query] },
    all: { sql: `SELECT rowid FROM ${found}`, parameters: [query] },
    first: (direction, count) => ({
      sql: `SELECT * FROM (SELECT rowid FROM ${found} ORDER BY rowid ${direction} LIMIT ?)`,
      parameters: [query, count],
    }),
  };
}

/** The rollouts whose metadata has a field with the same token. */
export function positionsByField(name: string, value: JsonValue, condition: SqlCondition): IndexedPositions {
  const token = `SELECT '"' || ${fieldToken} || '"' FROM json_each(?)`;
  return positionsOf(
    {
      sql: `rollout_fields WHERE rollout_fields MATCH (${token})`,
      parameters: [JSON.stringify({ [name]: value })],
    },
    condition,
  );
}

/** Whether a token identifies its field exactly: one of maximum length may be truncated. */
export function isExactToken(name: string, value: JsonValue): boolean {
  if (typeof value === 'object' && value !== null) return false;
  // SQLite writes non-integers with fifteen digits.
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return false;
  return [name, String(value)].every((text) => text.length < tokenLength && !text.includes('\0'));
}

/** Positions from a full-text table and from rollouts that are not indexed yet. */
function positionsOf(found: SqlCondition, condition: SqlCondition): IndexedPositions {
  const left = `rollouts_to_index AS n CROSS JOIN rollouts AS r WHERE r.position = n.position AND ${condition.sql}`;
  const parameters = [...found.parameters, ...condition.parameters];
  return {
    count: { sql: `SELECT (SELECT count(*) FROM ${found.sql}) + (SELECT count(*) FROM ${left}) AS total`, parameters },
    all: { sql: `SELECT rowid FROM ${found.sql} UNION ALL SELECT n.position FROM ${left}`, parameters },
    first: (direction, count) => ({
      sql: `SELECT * FROM (SELECT rowid FROM ${found.sql} ORDER BY rowid ${direction} LIMIT ?)
        UNION ALL SELECT * FROM (SELECT n.position FROM ${left} ORDER BY n.position ${direction} LIMIT ?)`,
      parameters: [...found.parameters, count, ...condition.parameters, count],
    }),
  };
}
