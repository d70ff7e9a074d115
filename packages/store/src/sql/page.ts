import { ValidationError } from '@agentlightning/core';
import type { Page, PageOptions } from '@agentlightning/core/store';
import type { OperationContext } from './operation-runner.ts';
import { readInteger } from './row-value.ts';
import type { SqlCondition, SqlValue } from './sql-dialect.ts';
import type { SqlRow } from './sql-driver.ts';

/**
 * A partition of a list. A page is merged from the first items of every partition: each partition is read along its
 * own index, while one combined condition would make the database sort the whole list.
 */
export interface ListPart {
  /** Disjoint from the conditions of other parts. */
  readonly condition: SqlCondition;
  /** Whether the part is small enough to sort, instead of scanning an index of all items in the list's order. */
  readonly isSmall: boolean;
}

/** How a list is read from the database. */
export interface ListPlan<TItem, TSortField extends string> {
  readonly columns: string;
  /** The table or join. */
  readonly from: string;
  /** The part of `from` that is sufficient to select and count items. @default `from` */
  readonly itemsFrom?: string;
  readonly conditions: readonly SqlCondition[];
  /** The partitions of the list. @default the list is not partitioned */
  readonly parts?: readonly ListPart[];
  /** Number of items. @default counted by a query */
  readonly total?: number;
  /** Columns by sort field. */
  readonly sortColumns: Readonly<Record<TSortField, string>>;
  /** The default order and tie breaker: a unique column. */
  readonly tieBreaker: string;
  /** @default the tie breaker */
  readonly defaultSort?: TSortField;
  readonly query: PageOptions<TSortField>;
  readonly window: PageWindow;
  /** Completes rows in the transaction, before they become items. @default rows are complete */
  readonly prepare?: (rows: readonly SqlRow[]) => Promise<readonly SqlRow[]>;
  readonly toItem: (row: SqlRow) => TItem;
}

/** The section of a list that one transaction reads. */
export interface PageWindow {
  /** Maximum number of rows. */
  readonly rows: number;
  /** Null for the first page, which starts at the offset of the query. */
  readonly after: ListCursor | null;
}

/** Where the next page of a list starts. */
export interface ListCursor {
  readonly position: KeysetPosition;
  /** Total number of items, as counted for the first page. */
  readonly total: number;
}

/** A page of a list. */
export interface ListPage<TItem> {
  readonly page: Page<TItem>;
  /** Number of text characters in its rows. */
  readonly characters: number;
  /** Null when there are no more rows. */
  readonly next: ListCursor | null;
}

/**
 * Reads one page of a list and the total number of items.
 *
 * @throws ValidationError for a bad limit, offset or sort field
 */
export async function readPage<TItem, TSortField extends string>(
  context: OperationContext,
  plan: ListPlan<TItem, TSortField>,
): Promise<ListPage<TItem>> {
  const { limit, offset, order } = pageClauses(plan);
  const { rows: size, after } = plan.window;
  const total = after?.total ?? (await countItems(context, plan));
  const { sql, parameters } = itemsOf(plan, order, after === null ? offset : 0);
  const found = await context.db.all(sql, parameters);
  const rows = plan.prepare === undefined ? found : await plan.prepare(found);
  const last = rows.length === size ? rows.at(-1) : undefined;
  // The first page covers all ranges of the list, each later one a single range.
  const position = last === undefined ? positionAfterRange(order, after?.position ?? null) : positionOf(last);
  return {
    page: { items: rows.map(plan.toItem), limit, offset, total },
    characters: rows.reduce((sum, row) => sum + charactersOf(row), 0),
    next: position === null ? null : { position, total },
  };
}

/** The columns of a page's rows that hold the keyset position. */
const valueColumn = 'keyset_value';
const keyColumn = 'keyset_key';

/** The keyset position of a row of a page. */
export function positionOf(row: SqlRow): { readonly value: SqlValue; readonly key: SqlValue } {
  return { value: storedValue(row, valueColumn), key: storedValue(row, keyColumn) };
}

function storedValue(row: SqlRow, column: string): SqlValue {
  const value = row[column];
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}

function charactersOf(row: SqlRow): number {
  let characters = 0;
  for (const value of Object.values(row)) if (typeof value === 'string') characters += value.length;
  return characters;
}

async function countItems<TItem, TSortField extends string>(
  { db }: OperationContext,
  plan: ListPlan<TItem, TSortField>,
): Promise<number> {
  if (plan.total !== undefined) return plan.total;
  const { sql, parameters } = whereOf(plan);
  const [counted] = await db.all(
    `SELECT count(*) AS total FROM ${plan.itemsFrom ?? plan.from} WHERE ${sql}`,
    parameters,
  );
  return counted === undefined ? 0 : readInteger(counted, 'total');
}

/** The statement that reads the items of a page. */
function itemsOf<TItem, TSortField extends string>(
  plan: ListPlan<TItem, TSortField>,
  order: ListOrder,
  offset: number,
): SqlCondition {
  const { columns, from, tieBreaker: key, itemsFrom = from, parts, window } = plan;
  const conditions = [
    ...plan.conditions,
    ...(window.after === null ? [] : [fromPosition(order, window.after.position)]),
  ];
  const where = parts === undefined || parts.length === 0 ? whereOf({ ...plan, conditions }) : firstOf(parts);
  const keysetColumns = `${order.column ?? 'NULL'} AS ${valueColumn}, ${key} AS ${keyColumn}`;
  return {
    sql: `SELECT ${columns}, ${keysetColumns} FROM ${from} WHERE ${where.sql} ORDER BY ${orderBy(order)} LIMIT ? OFFSET ?`,
    parameters: [...where.parameters, window.rows, offset],
  };

  function firstOf(some: readonly ListPart[]): SqlCondition {
    const selects = some.map(({ condition, isSmall }): SqlCondition => {
      const { sql, parameters } = allOf([...conditions, condition]);
      const inOrder = orderBy(isSmall ? withoutIndex(order) : order);
      return {
        sql: `SELECT * FROM (SELECT ${key} FROM ${itemsFrom} WHERE ${sql} ORDER BY ${inOrder} LIMIT ?) AS part`,
        parameters: [...parameters, window.rows + offset],
      };
    });
    return {
      sql: `${key} IN (${selects.map(({ sql }) => sql).join(' UNION ALL ')})`,
      parameters: selects.flatMap(({ parameters }) => parameters),
    };
  }
}

function whereOf<TItem, TSortField extends string>({ conditions, parts }: ListPlan<TItem, TSortField>): SqlCondition {
  if (parts === undefined) return allOf(conditions);
  const ofAny = parts.map(({ condition }) => condition);
  return allOf([...conditions, combine(ofAny, 'OR', 'FALSE')]);
}

/** The same order as expressions that have no index. */
function withoutIndex({ column, key, isDescending }: ListOrder): ListOrder {
  const hidden = (expression: string): string => `coalesce(${expression}, NULL)`;
  return { column: column === null ? null : hidden(column), key: hidden(key), isDescending };
}

/** Nulls sort before all values, regardless of the database's default. */
function orderBy({ column, key, isDescending }: ListOrder): string {
  const byKey = `${key} ${isDescending ? 'DESC' : 'ASC'}`;
  return column === null ? byKey : `${column} ${isDescending ? 'DESC NULLS LAST' : 'ASC NULLS FIRST'}, ${byKey}`;
}

/** The conjunction of the conditions; true without conditions. */
export function allOf(conditions: readonly SqlCondition[]): SqlCondition {
  return combine(conditions, 'AND', 'TRUE');
}

/** Joins the conditions by a query's `filterLogic`; true without conditions. */
export function joinFilters(conditions: readonly SqlCondition[], logic: 'and' | 'or' = 'and'): SqlCondition {
  return combine(conditions, logic === 'or' ? 'OR' : 'AND', 'TRUE');
}

/** The condition that a text column equals a value, written so that the planner cannot use an index of the column. */
export function equalsWithoutIndex(column: string, value: string): SqlCondition {
  return { sql: `coalesce(${column}, '') = ?`, parameters: [value] };
}

/** The condition that a column equals a value. */
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
  readonly order: ListOrder;
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
  const order = { key: plan.tieBreaker, isDescending: sortOrder === 'desc' };
  if (sortBy === undefined) return { limit, offset, order: { ...order, column: null } };
  if (!Object.hasOwn(plan.sortColumns, sortBy)) {
    const allowed = Object.keys(plan.sortColumns).join(', ');
    throw invalid('sortBy', `Invalid sort field ${sortBy}, allowed fields are: ${allowed}`);
  }
  const column = plan.sortColumns[sortBy];
  return { limit, offset, order: { ...order, column: column === plan.tieBreaker ? null : column } };
}

function invalid(path: string, message: string): ValidationError {
  return new ValidationError('Query', [{ path, message }]);
}

/** The order of a list: by a nullable column, with ties broken by a unique, non-null key. */
interface ListOrder {
  /** Null when the list is ordered by its key alone. */
  readonly column: string | null;
  readonly key: string;
  readonly isDescending: boolean;
}

/**
 * Where a list continues: after a row, at the rows whose column is null (`nulls`), or at those whose column is not
 * null (`values`). Nulls come first in ascending lists and last in descending ones.
 */
type KeysetPosition = { readonly value: SqlValue; readonly key: SqlValue } | 'nulls' | 'values';

/** The condition of the rows from a position on. It covers one index range, so it may end before the list does. */
function fromPosition({ column, key, isDescending }: ListOrder, position: KeysetPosition): SqlCondition {
  if (position === 'nulls') return { sql: `${column} IS NULL`, parameters: [] };
  if (position === 'values') return { sql: `${column} IS NOT NULL`, parameters: [] };
  const beyond = isDescending ? '<' : '>';
  const afterKey = `${key} ${beyond} ?`;
  if (column === null) return { sql: afterKey, parameters: [position.key] };
  if (position.value === null) return { sql: `${column} IS NULL AND ${afterKey}`, parameters: [position.key] };
  return {
    sql: `${column} ${beyond}= ? AND (${column} ${beyond} ? OR ${afterKey})`,
    parameters: [position.value, position.value, position.key],
  };
}

/** The position after an exhausted range; null when the list ends with it. */
function positionAfterRange(
  { column, isDescending }: ListOrder,
  position: KeysetPosition | null,
): KeysetPosition | null {
  if (column === null || position === null) return null;
  const isAmongNulls = position === 'nulls' || (position !== 'values' && position.value === null);
  if (isDescending) return isAmongNulls ? null : 'nulls';
  return isAmongNulls ? 'values' : null;
}
