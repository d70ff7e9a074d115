import type { ReactNode } from 'react';
import { ScrollRegion } from './scroll-region.tsx';

/** A column of a {@link DataTable}. */
export interface DataColumn<TRow> {
  readonly label: string;
  readonly render: (row: TRow) => ReactNode;
  /** Whether its values are right-aligned. @default false */
  readonly isNumber?: boolean;
  /** Whether it is left out on narrow screens. @default false */
  readonly isWideOnly?: boolean;
}

/** A table of a few rows, which scrolls sideways when it does not fit. */
export function DataTable<TRow>(props: {
  readonly label: string;
  readonly columns: readonly DataColumn<TRow>[];
  readonly rows: readonly TRow[];
  readonly keyOf: (row: TRow) => string;
}): ReactNode {
  const { label, columns, rows, keyOf } = props;
  return (
    <ScrollRegion label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.label} scope="col" className={classOf(column)}>
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.label} className={`foreign ${classOf(column)}`}>
                  {column.render(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function classOf({ isNumber = false, isWideOnly = false }: Pick<DataColumn<never>, 'isNumber' | 'isWideOnly'>): string {
  return [isNumber ? 'number' : '', isWideOnly ? 'wide-only' : ''].join(' ').trim();
}
