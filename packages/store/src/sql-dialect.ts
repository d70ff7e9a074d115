import type { JsonValue } from '@agentlightning/core';
import type { SqlValue } from './sql-value.ts';

/** A condition with the values of its placeholders. */
export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

/** The few pieces of SQL that databases write differently. */
export interface SqlDialect {
  /** Lists the tables of the database in a column `name`. */
  readonly tableNames: string;
  /** Appended to a SELECT that takes rows away from others who look for the same. */
  readonly skipLocked: string;
  /** The column is one of the values. */
  isOneOf(column: string, values: readonly string[]): SqlCondition;
  /** The column holds the text. */
  contains(column: string, text: string): SqlCondition;
  /** The JSON object in the column has a top-level field of exactly this value. */
  hasField(column: string, field: { readonly name: string; readonly value: JsonValue }): SqlCondition;
}
