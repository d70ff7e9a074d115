import type { JsonValue } from '@agentlightning/core';
import type { SqlDialect, SqlValue } from '../sql/sql-dialect.ts';
import {
  indexRolloutsUpTo,
  isExactToken,
  positionsByField,
  positionsBySubstring,
  positionsByWords,
} from './sqlite-rollout-index.ts';

/** The SQL dialect of SQLite. */
export const sqliteDialect: SqlDialect = {
  name: 'sqlite',
  columnTypes: { position: 'INTEGER PRIMARY KEY', integer: 'INTEGER', real: 'REAL', text: 'TEXT' },
  tableNames: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  // Write transactions are exclusive: no further locks are needed.
  lockSchema: null,
  forUpdate: '',
  skipLocked: '',
  keepsCounts: true,
  indexRolloutsUpTo,
  isOneOf: (column, values) => ({
    sql: `${column} IN (SELECT value FROM json_each(?))`,
    parameters: [JSON.stringify(values)],
  }),
  contains: (column, text) => ({ sql: `instr(${column}, ?) > 0`, parameters: [text] }),
  member: (column, name) => `(${column} -> '${name}')`,
  integerField: (column, name) =>
    `CASE json_type(${column}, '$.${name}') WHEN 'integer' THEN json_extract(${column}, '$.${name}') END`,
  hasField: (column, { name, value }) => {
    const { types, stored } = jsonEachForm(value);
    // Of a list or object json_each returns JSON, with the escape of references to contents.
    const unescaped = String.raw`replace(field.value, '\u0073ha256:', 'sha256:')`;
    const isNested = typeof value === 'object' && value !== null;
    const equals = isNested ? `? IN (field.value, ${unescaped})` : 'field.value IS ?';
    // json_each instead of a JSON path: field names are arbitrary, and paths have no escapes.
    return {
      sql: `EXISTS (SELECT 1 FROM json_each(${column}) AS field WHERE field.key = ? AND field.type IN (${types}) AND ${equals})`,
      parameters: [name, stored],
    };
  },
  rolloutIdContains: (text) => {
    const condition = sqliteDialect.contains('r.rollout_id', text);
    return { condition, positions: positionsBySubstring(text, condition), isExact: true };
  },
  rolloutContainsWords: (words) => {
    const positions = positionsByWords(words);
    const { sql, parameters } = positions.all;
    return { condition: { sql: `r.position IN (${sql})`, parameters }, positions, isExact: true };
  },
  writeRolloutWords: (position, words) => ({
    sql: 'INSERT OR REPLACE INTO rollout_words (rowid, words) VALUES (?, ?)',
    parameters: [position, words.join(' ')],
  }),
  rolloutHasField: ({ name, value }) => {
    const condition = sqliteDialect.hasField('r.metadata', { name, value });
    return { condition, positions: positionsByField(name, value, condition), isExact: isExactToken(name, value) };
  },
};

/** A value as `json_each` returns it: the names of its type and the value. */
function jsonEachForm(value: JsonValue): { readonly types: string; readonly stored: SqlValue } {
  if (value === null) return { types: "'null'", stored: null };
  if (typeof value === 'boolean') return { types: `'${value}'`, stored: value ? 1 : 0 };
  if (typeof value === 'number') return { types: "'integer', 'real'", stored: value };
  if (typeof value === 'string') return { types: "'text'", stored: value };
  return { types: Array.isArray(value) ? "'array'" : "'object'", stored: JSON.stringify(value) };
}
