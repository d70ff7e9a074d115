import type { SqlCondition } from './sql-dialect.ts';
import type { SqlValue } from './sql-value.ts';

/** The order of a list: by a column that may hold null, and between equals by a key that is unique and never null. */
export interface ListOrder {
  /** Null where the list is in the order of its key. */
  readonly column: string | null;
  readonly key: string;
  readonly isDescending: boolean;
}

/**
 * Where a list continues: after a row, or with all rows whose column is null or is not. Nulls come first in ascending
 * lists and last in descending ones.
 */
export type KeysetPlace = { readonly value: SqlValue; readonly key: SqlValue } | 'nulls' | 'values';

/** The condition of the rows from a place on. It stays within one range of an index, so it may end before the list does. */
export function fromPlace({ column, key, isDescending }: ListOrder, place: KeysetPlace): SqlCondition {
  if (place === 'nulls') return { sql: `${column} IS NULL`, parameters: [] };
  if (place === 'values') return { sql: `${column} IS NOT NULL`, parameters: [] };
  const beyond = isDescending ? '<' : '>';
  const afterKey = `${key} ${beyond} ?`;
  if (column === null) return { sql: afterKey, parameters: [place.key] };
  if (place.value === null) return { sql: `${column} IS NULL AND ${afterKey}`, parameters: [place.key] };
  return {
    sql: `${column} ${beyond}= ? AND (${column} ${beyond} ? OR ${afterKey})`,
    parameters: [place.value, place.value, place.key],
  };
}

/** The place after a range that has ended; null when the list ends with it. */
export function placeAfterRange({ column, isDescending }: ListOrder, place: KeysetPlace | null): KeysetPlace | null {
  if (column === null || place === null) return null;
  const isAmongNulls = place === 'nulls' || (place !== 'values' && place.value === null);
  if (isDescending) return isAmongNulls ? null : 'nulls';
  return isAmongNulls ? 'values' : null;
}
