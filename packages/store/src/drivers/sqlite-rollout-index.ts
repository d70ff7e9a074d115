import type { JsonValue } from '@agentlightning/core';
import type { IndexedPositions, SqlCondition } from '../sql-dialect.ts';

/** How much of a name or a value is in its token. */
const tokenLength = 64;

// Letters and digits, so that nothing in a field's name or value is taken for an end, a quote or a word of a query.
// The tables are filled with this: it stays as it is.
const fieldToken = `hex(substr(key, 1, ${tokenLength})) || 'x' || type || 'x' || coalesce(hex(substr(value, 1, ${tokenLength})), '')`;

/** Puts the rollouts of the list `rollouts_to_index` up to a position into the full-text tables. */
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

/** What the ids begin with that are given out, and the condition of the index of others: both stay as they are. */
const givenBeginning = 'ro-';
const isNamedOtherwise = "substr(rollout_id, 1, 3) <> 'ro-'";
/** Up to how many rollouts with other ids are looked at one by one. */
const fewOthers = 10_000;

/** The rollouts whose id holds a text; null for a text that is too short for the index. */
export function positionsByPiece(text: string, condition: SqlCondition): IndexedPositions | null {
  const indexed = indexedByPiece(text, condition);
  return givenBeginning.includes(text) ? byBeginning(text, { indexed, condition }) : indexed;
}

function indexedByPiece(text: string, condition: SqlCondition): IndexedPositions | null {
  // A full-text query ends at U+0000.
  if ([...text].length < 3 || text.includes('\0')) return null;
  const phrase = `"${text.replaceAll('"', '""')}"`;
  return positionsOf({ sql: 'rollout_id_pieces WHERE rollout_id_pieces MATCH ?', parameters: [phrase] }, condition);
}

/** As an index would have them, but counted as all rollouts less the few that do not hold the text. */
function byBeginning(
  text: string,
  { indexed, condition }: { readonly indexed: IndexedPositions | null; readonly condition: SqlCondition },
): IndexedPositions {
  const { count, all, first } = indexed ?? oneByOne(condition);
  const others = `SELECT 1 FROM rollouts WHERE ${isNamedOtherwise} LIMIT ${fewOthers + 1}`;
  const withoutIt = `SELECT count(*) FROM rollouts WHERE ${isNamedOtherwise} AND instr(rollout_id, ?) = 0`;
  return {
    count: {
      sql: `SELECT CASE WHEN (SELECT count(*) FROM (${others})) > ${fewOthers} THEN (${count.sql})
        ELSE (SELECT coalesce(sum(rollouts), 0) FROM rollout_counts) - (${withoutIt}) END AS total`,
      parameters: [...count.parameters, text],
    },
    all,
    first,
  };
}

/** The rollouts that meet a condition, found by looking at all of them: where most do, the first ones are found soon. */
function oneByOne({ sql, parameters }: SqlCondition): IndexedPositions {
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

/** The rollouts whose metadata has a field that is, or begins as, this one. */
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

/** Whether the token of a field says all of it: one that is as long as a token can be may be the beginning of others. */
export function isSaidByToken(name: string, value: JsonValue): boolean {
  if (typeof value === 'object' && value !== null) return false;
  // Of numbers with a fraction, SQLite writes fifteen digits.
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return false;
  return [name, String(value)].every((text) => text.length < tokenLength && !text.includes('\0'));
}

/** What is in a full-text table, and what is not yet. */
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
