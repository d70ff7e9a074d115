import type { JsonValue } from '@agentlightning/core';
import type { SqlValue } from './sql-value.ts';

/** A condition with the values of its placeholders. */
export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
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
  /** The column is one of the values. */
  isOneOf(column: string, values: readonly string[]): SqlCondition;
  /** The column holds the text. */
  contains(column: string, text: string): SqlCondition;
  /** A column for {@link SqlDialect.hasField}: the JSON object that a member of the one in this column is. */
  member(column: string, name: string): string;
  /** The JSON object in the column has a top-level field of exactly this value. */
  hasField(column: string, field: { readonly name: string; readonly value: JsonValue }): SqlCondition;
}
