import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { WorkerList } from '../../src/api/store-views.ts';
import { ageText } from '../data/format.ts';
import { workersQuery } from '../data/queries.ts';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { ScrollRegion } from '../parts/scroll-region.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';

/** The workers of the store: runners and trainers. */
export function WorkersPage(): ReactNode {
  return (
    <>
      <PageTitle title="Workers" />
      <QueryView query={useQuery(workersQuery())}>{(list) => <WorkerTable list={list} />}</QueryView>
    </>
  );
}

function WorkerTable({ list: { items, nowMs } }: { readonly list: WorkerList }): ReactNode {
  if (items.length === 0) {
    return (
      <EmptyNotice title="No workers yet">
        Workers appear here when <code>agl train</code> or a runner uses this store.
      </EmptyNotice>
    );
  }
  return (
    <ScrollRegion label="Workers">
      <table>
        <thead>
          <tr>
            <th scope="col">Worker</th>
            <th scope="col">Status</th>
            <th scope="col">Last heartbeat</th>
            <th scope="col">Current rollout</th>
            <th scope="col" className="wide-only">
              Last claim
            </th>
            <th scope="col" className="wide-only">
              Reported
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((worker) => (
            <tr key={worker.workerId}>
              <td className="mono foreign">{worker.workerId}</td>
              <td>
                <StatusBadge status={worker.status} />
              </td>
              <td>{ageText(worker.lastHeartbeatTimeMs, nowMs)}</td>
              <td>
                {worker.currentRolloutId === null ? (
                  '–'
                ) : (
                  <Link to="/rollouts/$rolloutId" params={{ rolloutId: worker.currentRolloutId }} data-row="">
                    {worker.currentRolloutId}
                  </Link>
                )}
              </td>
              <td className="wide-only">{ageText(worker.lastDequeueTimeMs, nowMs)}</td>
              <td className="wide-only">
                <pre className="foreign">
                  {worker.heartbeatStats === null ? '–' : JSON.stringify(worker.heartbeatStats)}
                </pre>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
