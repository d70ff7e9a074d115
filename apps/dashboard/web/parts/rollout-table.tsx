import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useEffect, useMemo, useRef } from 'react';
import type { RolloutRow } from '../../src/api/rollout-views.ts';
import { durationText, numberText, timeText } from '../data/format.ts';
import type { RolloutColumn } from '../rollout-columns.ts';
import { ScrollRegion } from './scroll-region.tsx';
import { StatusBadge } from './status-badge.tsx';

const rowHeight = 40;

/** A virtual table of rollouts: only visible rows are in the page. */
export function RolloutTable(props: {
  readonly columns: readonly RolloutColumn[];
  readonly rows: readonly RolloutRow[];
  readonly total: number;
  /** Called when the end of the rows becomes visible. */
  readonly onEnd: () => void;
}): ReactNode {
  const { rows, total, onEnd } = props;
  const columns = useMemo(() => [idColumn, ...props.columns.map((column) => columnsByName[column])], [props.columns]);
  const scroller = useRef<HTMLElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const visible = virtualizer.getVirtualItems();
  const lastVisible = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (lastVisible >= rows.length - 20) onEnd();
  }, [lastVisible, rows.length, onEnd]);
  return (
    <>
      <p className="muted" role="status">
        {total === 1 ? '1 rollout' : `${total.toLocaleString('en')} rollouts`}
      </p>
      <ScrollRegion
        label="Rollouts"
        ref={scroller}
        style={{ height: `min(${(rows.length + 1) * rowHeight + 2}px, max(320px, calc(100vh - 260px)))` }}
      >
        <table className="rollouts" aria-rowcount={total + 1}>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map(({ label, isNumber, width }) => (
                <th key={label} scope="col" className={isNumber ? 'number' : ''} style={{ width }}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer height={visible[0]?.start ?? 0} />
            {visible.map(({ index }) => {
              const row = rows[index];
              return row === undefined ? null : <Row key={row.rolloutId} columns={columns} row={row} index={index} />;
            })}
            <Spacer height={virtualizer.getTotalSize() - (visible.at(-1)?.end ?? 0)} />
          </tbody>
        </table>
      </ScrollRegion>
    </>
  );
}

/** Scrolling renders only the rows that come into view. */
const Row = memo(function Row(props: {
  readonly columns: readonly Column[];
  readonly row: RolloutRow;
  readonly index: number;
}): ReactNode {
  const { columns, row, index } = props;
  return (
    <tr aria-rowindex={index + 2} style={{ height: rowHeight }}>
      {columns.map(({ label, isNumber, render }) => (
        <td key={label} className={isNumber ? 'number' : 'foreign'}>
          {render(row)}
        </td>
      ))}
    </tr>
  );
});

/** The height of the rows that are not in the page. */
function Spacer({ height }: { readonly height: number }): ReactNode {
  return height <= 0 ? null : <tr style={{ height }} />;
}

interface Column {
  readonly label: string;
  readonly isNumber: boolean;
  /** Width in pixels. @default what remains */
  readonly width?: number;
  readonly render: (row: RolloutRow) => ReactNode;
}

const idColumn: Column = {
  label: 'Rollout',
  isNumber: false,
  width: 150,
  render: ({ rolloutId }) => (
    <Link to="/rollouts/$rolloutId" params={{ rolloutId }} data-row="" className="mono">
      {rolloutId}
    </Link>
  ),
};

const columnsByName: Readonly<Record<RolloutColumn, Column>> = {
  status: { label: 'Status', isNumber: false, width: 110, render: ({ status }) => <StatusBadge status={status} /> },
  run: { label: 'Run', isNumber: false, width: 130, render: ({ runId }) => runId ?? '–' },
  mode: { label: 'Mode', isNumber: false, width: 84, render: ({ mode }) => mode ?? '–' },
  step: { label: 'Step', isNumber: true, width: 84, render: ({ step }) => step ?? '–' },
  task: { label: 'Task', isNumber: true, width: 84, render: ({ taskIndex }) => taskIndex ?? '–' },
  group: { label: 'Group', isNumber: false, width: 110, render: ({ groupId }) => groupId ?? '–' },
  reward: { label: 'Reward', isNumber: true, width: 84, render: ({ reward }) => numberText(reward) },
  label: { label: 'Label', isNumber: false, width: 84, render: ({ label }) => label ?? '–' },
  started: { label: 'Started', isNumber: false, width: 180, render: ({ startTimeMs }) => timeText(startTimeMs) },
  duration: {
    label: 'Duration',
    isNumber: true,
    width: 100,
    render: ({ startTimeMs, endTimeMs }) => durationText(endTimeMs === null ? null : endTimeMs - startTimeMs),
  },
  attempts: { label: 'Attempts', isNumber: true, width: 84, render: ({ attempts }) => attempts },
  worker: { label: 'Worker', isNumber: false, width: 150, render: ({ workerId }) => workerId ?? '–' },
  input: {
    label: 'Input or failure',
    isNumber: false,
    render: ({ failure, preview }) => failure?.message ?? preview,
  },
};

/** The heading of a column. */
export function columnLabel(column: RolloutColumn): string {
  return columnsByName[column].label;
}
