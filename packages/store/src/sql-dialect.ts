import type { JsonValue } from '@agentlightning/core';
import type { SqlValue } from './sql-value.ts';

/** A condition with the values of its placeholders. */
export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

/** Statements that find positions of rollouts by an index that the database does not look into by itself. */
export interface IndexedPositions {
  /** Tells how many there are, in a column `total`. */
  readonly count: SqlCondition;
  /** All of them. */
  readonly all: SqlCondition;
  /** The first ones in this order, and maybe some more. */
  readonly first: (direction: 'ASC' | 'DESC', count: number) => SqlCondition;
}

/** A filter of the rollouts (`rollouts AS r`) that an index was made for. */
export interface IndexedFilter {
  /** The filter itself, for each rollout that is looked at. */
  readonly condition: SqlCondition;
  /** How an index finds them. Null where the database looks there by itself, or no index helps. */
  readonly positions: IndexedPositions | null;
  /** Whether all rollouts that are found so do meet it. */
  readonly isExact: boolean;
}

/** The types of columns, as a database calls them. */
export interface SqlColumnTypes {
  /** A number that the database gives out: larger for a row that was written later. The primary key. */
  readonly position: string;
  /** A whole number, as large as those of JavaScript. */
  readonly integer: string;
  /** A number with 64 bits, such as a time. */
  readonly real: string;
  /** Text that sorts by code point. */
  readonly text: string;
}

/** The few pieces of SQL that databases write differently. */
export interface SqlDialect {
  /** Whose dialect it is, for the rare migration that only one database needs. */
  readonly name: 'sqlite' | 'postgres';
  readonly columnTypes: SqlColumnTypes;
  /** Lists the tables of the database in a column `name`. */
  readonly tableNames: string;
  /** Keeps others from migrating until the transaction ends; null where a transaction that writes does that anyway. */
  readonly lockSchema: string | null;
  /** Appended to a SELECT: holds the rows until the transaction ends. Empty where nobody else writes meanwhile. */
  readonly forUpdate: string;
  /** Appended to a SELECT that takes rows away from others who look for the same. */
  readonly skipLocked: string;
  /** Whether triggers keep count of the rollouts in the table `rollout_counts`. Where not, they are counted when asked for. */
  readonly keepsCounts: boolean;
  /**
   * What puts the rollouts that are on the list `rollouts_to_index`, up to a position, into the indices. None where the
   * database does so by itself.
   */
  readonly indexRolloutsUpTo: readonly string[];
  /** The column is one of the values. */
  isOneOf(column: string, values: readonly string[]): SqlCondition;
  /** The column holds the text. */
  contains(column: string, text: string): SqlCondition;
  /** A column for {@link SqlDialect.hasField}: the JSON object that a member of the one in this column is. */
  member(column: string, name: string): string;
  /** The JSON object in the column has a top-level field of exactly this value. */
  hasField(column: string, field: { readonly name: string; readonly value: JsonValue }): SqlCondition;
  /** The id of a rollout holds the text. */
  rolloutIdContains(text: string): IndexedFilter;
  /** The metadata of a rollout has a field of exactly this value. */
  rolloutHasField(field: { readonly name: string; readonly value: JsonValue }): IndexedFilter;
}
