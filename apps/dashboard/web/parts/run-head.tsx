import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RunDetail } from '../../src/api/run-views.ts';
import { storeQuery } from '../data/queries.ts';
import { rolloutFilters } from '../rollout-filters.ts';
import { PageTitle } from './page-title.tsx';
import { RunBadge } from './status-badge.tsx';

/** The heading and the tabs of a run's pages. Every tab keeps the filters of the URL. */
export function RunHead(props: { readonly runId: string; readonly run: RunDetail | undefined }): ReactNode {
  const { runId, run } = props;
  const { run: _run, ...filters } = rolloutFilters(useSearch({ strict: false }));
  const { data: store } = useQuery(storeQuery());
  return (
    <>
      <PageTitle title={run?.name ?? runId}>
        {run === undefined ? null : <RunBadge run={run} nowMs={run.nowMs} />}
        <span className="mono muted">{runId}</span>
      </PageTitle>
      <nav className="tabs" aria-label="Run">
        <Link
          to="/runs/$runId"
          params={{ runId }}
          search={filters}
          activeOptions={{ exact: true, includeSearch: false }}
        >
          Overview
        </Link>
        <Link to="/runs/$runId/tasks" params={{ runId }} search={filters} activeOptions={{ includeSearch: false }}>
          Tasks
        </Link>
        {run?.kind === 'prompt-search' ? (
          <Link to="/runs/$runId/prompts" params={{ runId }} search={filters} activeOptions={{ includeSearch: false }}>
            Prompts
          </Link>
        ) : null}
        <Link to="/runs/$runId/dataset" params={{ runId }} search={filters} activeOptions={{ includeSearch: false }}>
          Data set
        </Link>
        {store?.hasAudits === true ? (
          <Link to="/runs/$runId/audit" params={{ runId }} search={filters} activeOptions={{ includeSearch: false }}>
            Audit
          </Link>
        ) : null}
        <Link to="/rollouts" search={{ ...filters, run: runId }} activeOptions={{ exact: true, includeSearch: false }}>
          Rollouts
        </Link>
      </nav>
    </>
  );
}
