import type { PublicationRecord } from '@agentlightning/core/protocol';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RunDetail } from '../../src/api/run-views.ts';
import { durationText, numberText, timeText } from '../data/format.ts';
import { type DataColumn, DataTable } from './data-table.tsx';

/** Number of characters of a shown digest, which is long enough to compare two. */
const digestLength = 12;

/** A publication with its run. */
interface PublicationRow {
  readonly run: RunDetail;
  readonly publication: PublicationRecord;
}

/** The last publications of weights of runs, newest first. */
export function PublicationTable({ runs }: { readonly runs: readonly RunDetail[] }): ReactNode {
  const rows = runs
    .flatMap((run) => run.publications.map((publication): PublicationRow => ({ run, publication })))
    .sort((one, other) => other.publication.timeMs - one.publication.timeMs);
  return (
    <DataTable
      label="Publications of weights"
      columns={columns}
      rows={rows}
      keyOf={({ run: { runId }, publication: { timeMs, policy } }) => `${runId} ${policy} ${timeMs}`}
    />
  );
}

const columns: readonly DataColumn<PublicationRow>[] = [
  { label: 'Published', render: ({ publication: { timeMs } }) => timeText(timeMs) },
  {
    label: 'Run',
    isWideOnly: true,
    render: ({ run: { runId, name } }) => (
      <Link to="/runs/$runId" params={{ runId }}>
        {name}
      </Link>
    ),
  },
  { label: 'Step', isNumber: true, render: ({ publication: { step } }) => step },
  {
    label: 'Version',
    isNumber: true,
    render: ({ publication: { version, policy } }) => (policy === null ? version : `${policy} ${version}`),
  },
  {
    label: 'Duration',
    isNumber: true,
    render: ({ publication: { durationMs } }) => durationText(durationMs),
  },
  {
    label: 'Verified',
    render: ({ publication: { probe } }) =>
      probe === null
        ? 'not compared'
        : `gap ${numberText(probe.gap)} of at most ${numberText(probe.limit)} nats, ${probe.tokens} tokens`,
  },
  {
    label: 'Digest of the weights',
    isWideOnly: true,
    render: ({ publication: { digest } }) =>
      digest === null ? '–' : <span className="mono">{digest.replace('sha256:', '').slice(0, digestLength)}</span>,
  },
];
