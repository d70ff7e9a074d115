import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type InsertTarget, onConflict } from '../sql-driver.ts';
import type { SqlValue } from '../sql-value.ts';

/**
 * How many rows go into a table with one statement, the most first. Calls cost, and so do the copies of pages that each
 * statement makes for itself to go back to: many rows at once cost a sixth less than few.
 */
const rowsPerInsert = [250, 16, 1] as const;
const fewRows = 16;
/** How many characters go with one statement of more than few rows: it keeps them until it is used again. */
const longestInsert = 2 ** 20;

/** A statement that inserts rows, and how many values each row has. */
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

  /** Inserts rows, many with each statement where there are many. */
  insert(target: InsertTarget, rows: readonly (readonly SqlValue[])[]): void {
    let from = 0;
    for (const size of rowsPerInsert) {
      if (from + size <= rows.length) from = this.#insertBlocks(target, rows, { from, size });
    }
  }

  /** Inserts rows, so many with each statement as long as there are so many; says where the others begin. */
  #insertBlocks(
    target: InsertTarget,
    rows: readonly (readonly SqlValue[])[],
    { from, size }: { readonly from: number; readonly size: number },
  ): number {
    const { statement, width } = this.#statementOf(target, size);
    // One list, filled anew for each statement, and by index: taking rows apart costs a tenth of what writing them does.
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
      if (size > fewRows && length > longestInsert) return begin;
      statement.run(...values);
    }
    return begin;
  }

  /** Remembered by the target: for a single row, to write the statement down costs half of what running it does. */
  #statementOf(target: InsertTarget, rows: number): InsertStatement {
    const ofTarget = this.#statements.get(target) ?? new Map<number, InsertStatement>();
    this.#statements.set(target, ofTarget);
    const known = ofTarget.get(rows);
    if (known !== undefined) return known;
    const names = Object.keys(target.columns);
    const made = { statement: this.#database.prepare(insertSql(target, names, rows)), width: names.length };
    ofTarget.set(rows, made);
    return made;
  }
}

function insertSql(target: InsertTarget, names: readonly string[], rows: number): string {
  const row = `(${names.map(() => '?').join(', ')})`;
  const values = Array.from({ length: rows }, () => row).join(', ');
  return `INSERT INTO ${target.table} (${names.join(', ')}) VALUES ${values}${onConflict(target)}`;
}
