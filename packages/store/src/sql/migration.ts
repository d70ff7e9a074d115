import type { SqlDialect } from './sql-dialect.ts';

/** One numbered change of the schema. Migrations are only ever added, never changed. */
export interface Migration {
  /** From 1, without gaps. */
  readonly version: number;
  readonly name: string;
  /** Run in order, in one transaction with all other pending migrations. Column types come from the dialect. */
  readonly statements: (dialect: SqlDialect) => readonly string[];
}
