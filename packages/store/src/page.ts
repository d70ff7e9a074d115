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
  /** The part of `from` that is enough to tell which items there are. @default `from` */
  readonly itemsFrom?: string;
  /** Where the number of items is kept, for lists that are too long to be counted. @default they are counted */
  readonly counter?: { readonly from: string; readonly sum: string };
  readonly conditions: readonly SqlCondition[];
  /**
   * Conditions of which an item may meet any, and meets at most one. The items of each are read along an index;
   * a database that is told them as one condition sorts everything that meets it. @default there are none
   */
  readonly alternatives?: readonly SqlCondition[];
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
  const clauses = pageClauses(plan);
  const { limit, offset } = clauses;
  const total = await countItems(context, plan);
  const { sql, parameters } = itemsOf(plan, clauses);
  const rows = await context.db.all(sql, parameters);
  return { items: rows.map(plan.toItem), limit, offset, total };
}

async function countItems<TItem, TSortField extends string>(
  { db }: OperationContext,
  plan: ListPlan<TItem, TSortField>,
): Promise<number> {
  const { from, sum } = plan.counter ?? { from: plan.itemsFrom ?? plan.from, sum: 'count(*)' };
  const { sql, parameters } = whereOf(plan);
  const [counted] = await db.all(`SELECT ${sum} AS total FROM ${from} WHERE ${sql}`, parameters);
  return counted === undefined ? 0 : readInteger(counted, 'total');
}

/** The statement that reads the items of a page. */
function itemsOf<TItem, TSortField extends string>(
  plan: ListPlan<TItem, TSortField>,
  { limit, offset, orderBy }: PageClauses,
): SqlCondition {
  const { columns, from, tieBreaker: key, itemsFrom = from, alternatives = [] } = plan;
  const isAll = limit === -1;
  const where = isAll || alternatives.length < 2 ? whereOf(plan) : firstOfEach();
  return {
    sql: `SELECT ${columns} FROM ${from} WHERE ${where.sql} ORDER BY ${orderBy} LIMIT ? OFFSET ?`,
    parameters: [...where.parameters, isAll ? Number.MAX_SAFE_INTEGER : limit, offset],
  };

  /** Whatever is on the page is among the first items of one of the alternatives. */
  function firstOfEach(): SqlCondition {
    const parts = alternatives.map((alternative): SqlCondition => {
      const { sql, parameters } = allOf([...plan.conditions, alternative]);
      return {
        sql: `SELECT * FROM (SELECT ${key} FROM ${itemsFrom} WHERE ${sql} ORDER BY ${orderBy} LIMIT ?) AS part`,
        parameters: [...parameters, limit + offset],
      };
    });
    return {
      sql: `${key} IN (${parts.map(({ sql }) => sql).join(' UNION ALL ')})`,
      parameters: parts.flatMap(({ parameters }) => parameters),
    };
  }
}

function whereOf<TItem, TSortField extends string>(plan: ListPlan<TItem, TSortField>): SqlCondition {
  const { conditions, alternatives } = plan;
  return allOf(alternatives === undefined ? conditions : [...conditions, combine(alternatives, 'OR', 'FALSE')]);
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
