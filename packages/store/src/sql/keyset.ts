import type { SqlCondition } from './sql-dialect.ts';
import type { SqlValue } from './sql-value.ts';

/** The order of a list: by a nullable column, with ties broken by a unique, non-null key. */
export interface ListOrder {
  /** Null when the list is ordered by its key alone. */
  readonly column: string | null;
  readonly key: string;
  readonly isDescending: boolean;
}

/**
 * Where a list continues: after a row, at the rows whose column is null (`nulls`), or at those whose column is not
 * null (`values`). Nulls come first in ascending lists and last in descending ones.
 */
export type KeysetPosition = { readonly value: SqlValue; readonly key: SqlValue } | 'nulls' | 'values';

/** The condition of the rows from a position on. It covers one index range, so it may end before the list does. */
export function fromPosition({ column, key, isDescending }: ListOrder, position: KeysetPosition): SqlCondition {
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
export function positionAfterRange(
  { column, isDescending }: ListOrder,
  position: KeysetPosition | null,
): KeysetPosition | null {
  if (column === null || position === null) return null;
  const isAmongNulls = position === 'nulls' || (position !== 'values' && position.value === null);
  if (isDescending) return isAmongNulls ? null : 'nulls';
  return isAmongNulls ? 'values' : null;
}
