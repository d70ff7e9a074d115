import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';
import type { RolloutRow } from '../../src/api/rollout-views.ts';
import { durationText, numberText } from '../data/format.ts';
import { ScrollRegion } from './scroll-region.tsx';
import { StatusBadge } from './status-badge.tsx';

const rowHeight = 40;

/** A virtual table of rollouts: only visible rows are in the page. */
export function RolloutTable(props: {
  readonly rows: readonly RolloutRow[];
  readonly total: number;
  /** Called when the end of the rows becomes visible. */
  readonly onEnd: () => void;
}): ReactNode {
  const { rows, total, onEnd } = props;
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
              {columns.map(({ label, isNumber }) => (
                <th key={label} scope="col" className={isNumber ? 'number' : ''}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer height={visible[0]?.start ?? 0} />
            {visible.map(({ index }) => {
              const row = rows[index];
              return row === undefined ? null : <Row key={row.rolloutId} row={row} index={index} />;
            })}
            <Spacer height={virtualizer.getTotalSize() - (visible.at(-1)?.end ?? 0)} />
          </tbody>
        </table>
      </ScrollRegion>
    </>
  );
}

function Row({ row, index }: { readonly row: RolloutRow; readonly index: number }): ReactNode {
  return (
    <tr aria-rowindex={index + 2} style={{ height: rowHeight }}>
      {columns.map(({ label, isNumber, render }) => (
        <td key={label} className={isNumber ? 'number' : 'foreign'}>
          {render(row)}
        </td>
      ))}
    </tr>
  );
}

/** The height of the rows that are not in the page. */
function Spacer({ height }: { readonly height: number }): ReactNode {
  return height <= 0 ? null : <tr style={{ height }} />;
}

interface Column {
  readonly label: string;
  readonly isNumber: boolean;
  readonly render: (row: RolloutRow) => ReactNode;
}

const columns: readonly Column[] = [
  {
    label: 'Rollout',
    isNumber: false,
    render: ({ rolloutId }) => (
      <Link to="/rollouts/$rolloutId" params={{ rolloutId }} data-row="" className="mono">
        {rolloutId}
      </Link>
    ),
  },
  { label: 'Status', isNumber: false, render: ({ status }) => <StatusBadge status={status} /> },
  { label: 'Mode', isNumber: false, render: ({ mode }) => mode ?? '–' },
  { label: 'Step', isNumber: true, render: ({ step }) => step ?? '–' },
  { label: 'Task', isNumber: true, render: ({ taskIndex }) => taskIndex ?? '–' },
  { label: 'Reward', isNumber: true, render: ({ reward }) => numberText(reward) },
  { label: 'Label', isNumber: false, render: ({ label }) => label ?? '–' },
  {
    label: 'Duration',
    isNumber: true,
    render: ({ startTimeMs, endTimeMs }) => durationText(endTimeMs === null ? null : endTimeMs - startTimeMs),
  },
  { label: 'Attempts', isNumber: true, render: ({ attempts }) => attempts },
  { label: 'Input or failure', isNumber: false, render: ({ failure, preview }) => failure?.message ?? preview },
];
