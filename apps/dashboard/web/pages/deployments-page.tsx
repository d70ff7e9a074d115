import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { DeploymentSummary } from '../../src/api/deployment-views.ts';
import { shareText, timeText } from '../data/format.ts';
import { deploymentsQuery } from '../data/queries.ts';
import { type DataColumn, DataTable } from '../parts/data-table.tsx';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';

/** The deployments of the store: live version, candidate with its share, and verdict. */
export function DeploymentsPage(): ReactNode {
  return (
    <>
      <PageTitle title="Deployments" />
      <QueryView query={useQuery(deploymentsQuery())}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyNotice title="No deployments">
              <code>{'agl deploy <run>@best --to <name>'}</code> creates one, and <code>{'agl serve <name>'}</code>{' '}
              serves it.
            </EmptyNotice>
          ) : (
            <DataTable label="Deployments" columns={columns} rows={items} keyOf={({ name }) => name} />
          )
        }
      </QueryView>
    </>
  );
}

const columns: readonly DataColumn<DeploymentSummary>[] = [
  {
    label: 'Deployment',
    render: ({ name }) => (
      <Link to="/deployments/$name" params={{ name }} data-row="" className="foreign">
        {name}
      </Link>
    ),
  },
  { label: 'Live', render: ({ live }) => <span className="mono foreign">{live ?? '–'}</span> },
  {
    label: 'Candidate',
    render: ({ candidate }) =>
      candidate === null ? (
        '–'
      ) : (
        <span>
          <span className="mono foreign">{candidate.version}</span>, {shareText(candidate.share)}
        </span>
      ),
  },
  {
    label: 'Verdict',
    render: ({ candidate, verdict }) => (candidate === null ? '–' : <StatusBadge status={verdictName(verdict)} />),
  },
  { label: 'Changed', render: ({ lastChange }) => timeText(lastChange?.timeMs ?? null) },
  { label: 'By', render: ({ lastChange }) => <span className="foreign">{lastChange?.by ?? '–'}</span> },
];

/** A verdict in words. */
export function verdictName(verdict: DeploymentSummary['verdict']): string {
  if (verdict === 'not-shown') return 'not shown';
  return verdict === 'unknown' ? 'cannot be known' : verdict;
}
