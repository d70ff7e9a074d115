import type { ReactNode } from 'react';
import type { RolloutDetail } from '../../src/api/rollout-views.ts';
import { numberText } from '../data/format.ts';
import { type DataColumn, DataTable } from './data-table.tsx';

interface ScoreRow {
  readonly part: string;
  readonly score: number | null;
  readonly reason: string | null;
}

const columns: readonly DataColumn<ScoreRow>[] = [
  { label: 'Part', render: ({ part }) => part },
  { label: 'Score', isNumber: true, render: ({ score }) => (score === null ? 'missing' : numberText(score)) },
  { label: 'Reason', render: ({ reason }) => <span className="foreign">{reason ?? '–'}</span> },
];

/** What the agent returned, and the scores of the parts of the reward; nothing where no configured reward scores outputs. */
export function ScoreTable({ scored }: Pick<RolloutDetail, 'scored'>): ReactNode {
  if (scored === null) return null;
  const rows = Object.entries(scored.scores).map(([part, score]) => ({ part, ...score }));
  const { output } = scored;
  return (
    <section className="panel" aria-label="Output">
      <h2>Scores of the output</h2>
      {output === undefined ? null : (
        <pre className="foreign">{typeof output === 'string' ? output : JSON.stringify(output, null, 2)}</pre>
      )}
      <DataTable label="Scores" columns={columns} rows={rows} keyOf={({ part }) => part} />
    </section>
  );
}
