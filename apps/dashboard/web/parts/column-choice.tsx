import type { ReactNode } from 'react';
import { type RolloutColumn, rolloutColumns } from '../rollout-columns.ts';
import { columnLabel } from './rollout-table.tsx';

/** The choice of the columns of a list of rollouts. */
export function ColumnChoice(props: {
  readonly chosen: readonly RolloutColumn[];
  readonly onChange: (chosen: readonly RolloutColumn[]) => void;
}): ReactNode {
  const { chosen, onChange } = props;
  const toggle = (column: RolloutColumn): void =>
    onChange(chosen.includes(column) ? chosen.filter((each) => each !== column) : [...chosen, column]);
  return (
    <details className="column-choice">
      <summary>Columns</summary>
      <div className="filters">
        {rolloutColumns.map((column) => (
          <label key={column} className="check">
            <input type="checkbox" checked={chosen.includes(column)} onChange={() => toggle(column)} />
            {columnLabel(column)}
          </label>
        ))}
      </div>
    </details>
  );
}
