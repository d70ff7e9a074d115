import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { SqlValue } from '../sql/sql-dialect.ts';
import { type InsertTarget, onConflict } from '../sql/sql-driver.ts';

/**
 * Batch sizes of INSERT statements, largest first. Each statement costs a call and copies of pages for its rollback:
 * large batches cost a sixth less than small ones.
 */
const rowsPerInsert = [250, 16, 1] as const;
const smallBatchRows = 16;
/** Maximum characters of a large batch: a statement keeps its bound values until its next use. */
const maxBatchCharacters = 2 ** 20;

/** A prepared INSERT and the number of values per row. */
interface InsertStatement {
  readonly statement: StatementSync;
  readonly width: number;
}

/** Inserts rows into the tables of a database. */
export class SqliteInserter {
  readonly #database: DatabaseSync;
  readonly #statements = new WeakMap<InsertTarget, Map<number, InsertStatement>>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Inserts rows in the largest possible batches. */
  insert(target: InsertTarget, rows: readonly (readonly SqlValue[])[]): void {
    let from = 0;
    for (const size of rowsPerInsert) {
      if (from + size <= rows.length) from = this.#insertBlocks(target, rows, { from, size });
    }
  }

  /** Inserts as many full batches of a size as possible; returns the index of the next row. */
  #insertBlocks(
    target: InsertTarget,
    rows: readonly (readonly SqlValue[])[],
    { from, size }: { readonly from: number; readonly size: number },
  ): number {
    const { statement, width } = this.#statementOf(target, size);
    // One reused array, filled by index: spreading rows costs a tenth of the insert.
    const values = new Array<SqlValue>(size * width).fill(null);
    let begin = from;
    for (; begin + size <= rows.length; begin += size) {
      let length = 0;
      let at = 0;
      for (let index = begin; index < begin + size; index += 1) {
        const row = rows[index] ?? [];
        for (let column = 0; column < width; column += 1) {
          const value = row[column] ?? null;
          values[at] = value;
          at += 1;
          if (typeof value === 'string') length += value.length;
        }
      }
      if (size > smallBatchRows && length > maxBatchCharacters) return begin;
      statement.run(...values);
    }
    return begin;
  }

  /** Cached by target: building the SQL of a single row costs half of running it. */
  #statementOf(target: InsertTarget, rows: number): InsertStatement {
    const ofTarget = this.#statements.get(target) ?? new Map<number, InsertStatement>();
    this.#statements.set(target, ofTarget);
    const known = ofTarget.get(rows);
    if (known !== undefined) return known;
    const names = Object.keys(target.columns);
    const created = { statement: this.#database.prepare(insertSql(target, names, rows)), width: names.length };
    ofTarget.set(rows, created);
    return created;
  }
}

function insertSql(target: InsertTarget, names: readonly string[], rows: number): string {
  const row = `(${names.map(() => '?').join(', ')})`;
  const values = Array.from({ length: rows }, () => row).join(', ');
  return `INSERT INTO ${target.table} (${names.join(', ')}) VALUES ${values}${onConflict(target)}`;
}
