import type { JsonValue } from '@agentlightning/core';
import type { SearchWord } from '../text-search/search-words.ts';

/** A parameter or result value of a statement. Lists and objects are JSON text. */
export type SqlValue = string | number | null;

/** A condition with the values of its placeholders. */
export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

/** Statements that find positions of rollouts by an index that the query planner does not use automatically. */
export interface IndexedPositions {
  /** Returns their number in a column `total`. */
  readonly count: SqlCondition;
  /** Returns all of them. */
  readonly all: SqlCondition;
  /** Returns at least the first ones in this order. */
  readonly first: (direction: 'ASC' | 'DESC', count: number) => SqlCondition;
}

/** An indexed filter of rollouts (`rollouts AS r`). */
export interface IndexedFilter {
  /** The filter as a condition on each scanned rollout. */
  readonly condition: SqlCondition;
  /** Index lookup. Null when the planner uses the index automatically or no index helps. */
  readonly positions: IndexedPositions | null;
  /** Whether every position that the index returns meets the condition. */
  readonly isExact: boolean;
}

/** The database's names of column types. */
export interface SqlColumnTypes {
  /** Generated primary key, increasing in the order of insertion. */
  readonly position: string;
  /** An integer with the range of JavaScript's safe integers. */
  readonly integer: string;
  /** A 64-bit float, such as a time. */
  readonly real: string;
  /** Text that sorts by code point. */
  readonly text: string;
}

/** The SQL that differs between databases. */
export interface SqlDialect {
  /** The database's name, for schema statements of one database. */
  readonly name: 'sqlite' | 'postgres';
  readonly columnTypes: SqlColumnTypes;
  /** Selects the tables of the database in a column `name`. */
  readonly tableNames: string;
  /**
   * Locks the schema against concurrent migrations until the transaction ends; null when write transactions are
   * exclusive.
   */
  readonly lockSchema: string | null;
  /** Appended to a SELECT: locks the rows until the transaction ends. Empty when write transactions are exclusive. */
  readonly forUpdate: string;
  /** Appended to a SELECT: locks the rows and skips rows that are already locked. */
  readonly skipLocked: string;
  /** Whether triggers maintain counts of rollouts in the table `rollout_counts`. Otherwise queries count them. */
  readonly keepsCounts: boolean;
  /**
   * Statements that index the rollouts of the table `rollouts_to_index` up to a position. Empty when the database
   * maintains its indexes automatically.
   */
  readonly indexRolloutsUpTo: readonly string[];
  /** The column is one of the values. */
  isOneOf(column: string, values: readonly string[]): SqlCondition;
  /** The column contains the text. */
  contains(column: string, text: string): SqlCondition;
  /** A nested object of a JSON column, as a column for {@link SqlDialect.hasField}. */
  member(column: string, name: string): string;
  /** The integer in a top-level field of the JSON object in the column; null for other values. */
  integerField(column: string, name: string): string;
  /** The JSON object in the column has a top-level field with exactly this value. */
  hasField(column: string, field: { readonly name: string; readonly value: JsonValue }): SqlCondition;
  /** The id of a rollout contains the text. */
  rolloutIdContains(text: string): IndexedFilter;
  /** A rollout contains all of the words. */
  rolloutContainsWords(words: readonly SearchWord[]): IndexedFilter;
  /** The statement that replaces the words of a rollout in the index. */
  writeRolloutWords(position: number, words: readonly string[]): SqlCondition;
  /** The metadata of a rollout has a field with exactly this value. */
  rolloutHasField(field: { readonly name: string; readonly value: JsonValue }): IndexedFilter;
}
