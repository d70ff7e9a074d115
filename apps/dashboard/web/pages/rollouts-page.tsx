import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { rolloutsQuery, runQuery } from '../data/queries.ts';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { RolloutFilterBar } from '../parts/rollout-filter-bar.tsx';
import { columnLabel, RolloutTable } from '../parts/rollout-table.tsx';
import { RunHead } from '../parts/run-head.tsx';
import {
  chosenColumns,
  columnsText,
  type RolloutColumn,
  type RolloutsSearch,
  rolloutColumns,
} from '../rollout-columns.ts';
import { definedValues } from '../search-values.ts';

const route = getRouteApi('/rollouts');

/** The rollouts of the store, filtered by the URL. */
export function RolloutsPage(): ReactNode {
  const search = route.useSearch();
  const { columns, ...filters } = search;
  const chosen = useMemo(() => chosenColumns({ columns }), [columns]);
  const navigate = useNavigate();
  const apply = (next: RolloutsSearch): void =>
    void navigate({ to: '/rollouts', search: definedValues(next), replace: true });
  const query = useInfiniteQuery(rolloutsQuery({ ...filters }));
  const loadMore = (): void => {
    if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
  };
  return (
    <>
      {filters.run === undefined ? <PageTitle title="Rollouts" /> : <HeadOfRun runId={filters.run} />}
      <RolloutFilterBar filters={filters} onChange={(next) => apply({ ...next, columns })} />
      <ColumnChoice chosen={chosen} onChange={(next) => apply({ ...filters, columns: columnsText(next) })} />
      <QueryView query={query}>
        {({ pages }) => {
          const rows = pages.flatMap(({ items }) => items);
          if (rows.length === 0 && pages[0]?.unindexed === 0)
            return <NoRollouts hasFilters={Object.keys(filters).length > 0} />;
          const { total = rows.length, unindexed = 0 } = pages[0] ?? {};
          return (
            <>
              {unindexed === 0 ? null : <Unindexed rollouts={unindexed} />}
              <RolloutTable columns={chosen} rows={rows} total={total} onEnd={loadMore} />
            </>
          );
        }}
      </QueryView>
    </>
  );
}

function HeadOfRun({ runId }: { readonly runId: string }): ReactNode {
  const { data } = useQuery(runQuery(runId));
  return <RunHead runId={runId} run={data} />;
}

function Unindexed({ rollouts }: { readonly rollouts: number }): ReactNode {
  return (
    <p className="muted" role="status">
      The text of {rollouts.toLocaleString('en')} finished rollouts is not indexed yet. The list completes itself.
    </p>
  );
}

function NoRollouts({ hasFilters }: { readonly hasFilters: boolean }): ReactNode {
  return hasFilters ? (
    <EmptyNotice title="No rollouts match">Remove a filter to see more.</EmptyNotice>
  ) : (
    <EmptyNotice title="No rollouts yet">
      <code>agl train</code> enqueues rollouts. They appear here without a reload.
    </EmptyNotice>
  );
}

/** The choice of the columns of a list of rollouts. */
function ColumnChoice(props: {
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
