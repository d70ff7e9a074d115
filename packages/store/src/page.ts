import { type Page, type PageOptions, ValidationError } from '@agentlightning/core';
import type { OperationContext } from './operation.ts';
import { readInteger } from './row-value.ts';
import type { SqlCondition } from './sql-dialect.ts';
import type { SqlRow } from './sql-driver.ts';
import type { SqlValue } from './sql-value.ts';

/** How a list is read from the database. */
export interface ListPlan<TItem, TSortField extends string> {
  readonly columns: string;
  /** The table, or the join. */
  readonly from: string;
  /** The part of `from` that is enough to count. @default `from` */
  readonly countFrom?: string;
  readonly conditions: readonly SqlCondition[];
  /** Columns by the sort field they stand for. */
  readonly sortColumns: Readonly<Record<TSortField, string>>;
  /** The order when none is asked for, and between equals: a column whose values are all different. */
  readonly tieBreaker: string;
  /** @default the tie breaker */
  readonly defaultSort?: TSortField;
  readonly query: PageOptions<TSortField>;
  readonly toItem: (row: SqlRow) => TItem;
}

/**
 * Reads one page of a list, with the number of items in all.
 *
 * @throws ValidationError for a bad limit, offset or sort field
 */
export async function readPage<TItem, TSortField extends string>(
  context: OperationContext,
  plan: ListPlan<TItem, TSortField>,
): Promise<Page<TItem>> {
  const { limit, offset, orderBy } = pageClauses(plan);
  const where = allOf(plan.conditions);
  const [counted] = await context.db.all(
    `SELECT count(*) AS total FROM ${plan.countFrom ?? plan.from} WHERE ${where.sql}`,
    where.parameters,
  );
  const total = counted === undefined ? 0 : readInteger(counted, 'total');
  const parameters: SqlValue[] = [...where.parameters, limit === -1 ? Number.MAX_SAFE_INTEGER : limit, offset];
  const rows = await context.db.all(
    `SELECT ${plan.columns} FROM ${plan.from} WHERE ${where.sql} ORDER BY ${orderBy} LIMIT ? OFFSET ?`,
    parameters,
  );
  return { items: rows.map(plan.toItem), limit, offset, total };
}

/** All of the conditions together; true when there are none. */
export function allOf(conditions: readonly SqlCondition[]): SqlCondition {
  return combine(conditions, 'AND', 'TRUE');
}

/** The conditions joined as a query's `filterLogic` says; no conditions hold for everything. */
export function joinFilters(conditions: readonly SqlCondition[], logic: 'and' | 'or' = 'and'): SqlCondition {
  return combine(conditions, logic === 'or' ? 'OR' : 'AND', 'TRUE');
}

/** A condition that a column equals a value. */
export function equals(column: string, value: SqlValue): SqlCondition {
  return { sql: `${column} = ?`, parameters: [value] };
}

function combine(conditions: readonly SqlCondition[], word: 'AND' | 'OR', none: string): SqlCondition {
  if (conditions.length === 0) return { sql: none, parameters: [] };
  return {
    sql: conditions.map((condition) => `(${condition.sql})`).join(` ${word} `),
    parameters: conditions.flatMap((condition) => condition.parameters),
  };
}

interface PageClauses {
  readonly limit: number;
  readonly offset: number;
  readonly orderBy: string;
}

function pageClauses<TItem, TSortField extends string>(plan: ListPlan<TItem, TSortField>): PageClauses {
  const { limit = -1, offset = 0, sortOrder = 'asc', sortBy = plan.defaultSort } = plan.query;
  if (!Number.isSafeInteger(limit) || (limit < 1 && limit !== -1)) {
    throw invalid('limit', `Limit must be greater than 0 or -1 for no limit, got ${limit}`);
  }
  if (!Number.isSafeInteger(offset) || offset < 0) {
    throw invalid('offset', `Offset must be 0 or greater, got ${offset}`);
  }
  if (sortOrder !== 'asc' && sortOrder !== 'desc') {
    throw invalid('sortOrder', `Sort order must be asc or desc, got ${String(sortOrder)}`);
  }
  // Nothing comes before everything, whatever the database's own custom is.
  const direction = sortOrder === 'desc' ? 'DESC NULLS LAST' : 'ASC NULLS FIRST';
  const tieBreaker = `${plan.tieBreaker} ${sortOrder === 'desc' ? 'DESC' : 'ASC'}`;
  if (sortBy === undefined) return { limit, offset, orderBy: tieBreaker };
  if (!Object.hasOwn(plan.sortColumns, sortBy)) {
    const allowed = Object.keys(plan.sortColumns).join(', ');
    throw invalid('sortBy', `Invalid sort field ${sortBy}, allowed fields are: ${allowed}`);
  }
  return { limit, offset, orderBy: `${plan.sortColumns[sortBy]} ${direction}, ${tieBreaker}` };
}

function invalid(path: string, message: string): ValidationError {
  return new ValidationError('Query', [{ path, message }]);
}
