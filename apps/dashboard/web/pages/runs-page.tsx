import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RunList, RunSummary } from '../../src/api/run-views.ts';
import { costText, countText, durationText, numberText, shortTimeText, verdictText } from '../data/format.ts';
import { runsQuery } from '../data/queries.ts';
import { type DataColumn, DataTable } from '../parts/data-table.tsx';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { RunBadge } from '../parts/status-badge.tsx';
import {
  kindLabels,
  maxCompared,
  type RunsSearch,
  runIdsOf,
  runParameters,
  runsSearch,
  statusChoices,
} from '../runs-search.ts';
import type { SearchValues } from '../search-values.ts';

const route = getRouteApi('/');

/** The runs of the store, filtered by the URL. */
export function RunsPage(): ReactNode {
  const { compare, ...filters } = route.useSearch();
  const query = useQuery(runsQuery(runParameters(filters)));
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <>
      <PageTitle title="Runs" />
      <RunFilters filters={filters} tags={query.data?.tags ?? []} />
      <QueryView query={query}>{(list) => <RunTable list={list} isFiltered={isFiltered} />}</QueryView>
    </>
  );
}

function RunFilters({ filters, tags }: { readonly filters: RunsSearch; readonly tags: readonly string[] }): ReactNode {
  const navigate = useNavigate();
  const set = (changes: SearchValues): void =>
    void navigate({ to: '/', search: (search) => runsSearch({ ...search, ...changes }), replace: true });
  const choices = { ...kindLabels, all: 'all' };
  return (
    <search className="filters">
      <label>
        Name, id or tag
        <input
          type="search"
          value={filters.text ?? ''}
          onChange={({ target }) => set({ text: target.value })}
          data-search=""
        />
      </label>
      <Choice
        label="Kind"
        all="All but dev"
        value={filters.kind}
        options={choices}
        onChange={(kind) => set({ kind })}
      />
      <Choice
        label="Status"
        value={filters.state}
        options={Object.fromEntries(statusChoices.map((status) => [status, status]))}
        onChange={(state) => set({ state })}
      />
      {tags.length === 0 && filters.tag === undefined ? null : (
        <Choice
          label="Tag"
          value={filters.tag}
          options={Object.fromEntries([...tags, filters.tag ?? []].flat().map((tag) => [tag, tag]))}
          onChange={(tag) => set({ tag })}
        />
      )}
    </search>
  );
}

function Choice(props: {
  readonly label: string;
  /** The text of no choice. @default 'All' */
  readonly all?: string;
  readonly value: string | undefined;
  readonly options: Readonly<Record<string, string>>;
  readonly onChange: (value: string) => void;
}): ReactNode {
  const { label, all = 'All', value = '', options, onChange } = props;
  return (
    <label>
      {label}
      <select value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">{all}</option>
        {Object.entries(options).map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function RunTable({ list, isFiltered }: { readonly list: RunList; readonly isFiltered: boolean }): ReactNode {
  const { items, nowMs, hasMore } = list;
  if (items.length === 0 && isFiltered) {
    return <EmptyNotice title="No runs match">Remove a filter to see more.</EmptyNotice>;
  }
  if (items.length === 0) {
    return (
      <EmptyNotice title="No runs yet">
        Start one with <code>agl train</code> on this store. It appears here without a reload. Runs of{' '}
        <code>agl dev</code> are of the kind “dev”.
      </EmptyNotice>
    );
  }
  return (
    <>
      <CompareLink />
      <DataTable
        label="Runs"
        columns={columns}
        rows={items.map((run) => ({ run, nowMs }))}
        keyOf={({ run }) => run.runId}
      />
      {hasMore ? <p className="muted">{`The newest ${items.length} runs. Filter to find older ones.`}</p> : null}
    </>
  );
}

interface Row {
  readonly run: RunSummary;
  readonly nowMs: number;
}

const columns: readonly DataColumn<Row>[] = [
  { label: 'Compare', render: ({ run }) => <CompareBox run={run} /> },
  { label: 'Run', render: ({ run }) => <RunName run={run} /> },
  { label: 'Status', render: ({ run, nowMs }) => <RunState run={run} nowMs={nowMs} /> },
  {
    label: 'Step',
    isNumber: true,
    render: ({ run: { kind, step, steps } }) => (kind === 'training' ? `${step}/${steps ?? '?'}` : kindLabels[kind]),
  },
  {
    label: 'Held-out reward',
    isNumber: true,
    render: ({ run: { rewardBefore, rewardAfter, verdict } }) => (
      <>
        {rewardBefore === null ? numberText(rewardAfter) : `${numberText(rewardBefore)} → ${numberText(rewardAfter)}`}
        {verdict === null ? null : <div className="muted">{verdictText(verdict)}</div>}
      </>
    ),
  },
  {
    label: 'Training',
    isWideOnly: true,
    render: ({ run: { rewardCurve, lossCurve } }) => {
      const [name, values] = lossCurve.length > 0 ? (['loss', lossCurve] as const) : (['reward', rewardCurve] as const);
      return <Sparkline values={values} label={`Training ${name}, last ${numberText(values.at(-1))}`} />;
    },
  },
  {
    label: 'Duration',
    isNumber: true,
    isWideOnly: true,
    render: ({ run, nowMs }) => durationText((run.liveness === 'live' ? nowMs : run.updateTimeMs) - run.createTimeMs),
  },
  { label: 'Tokens', isNumber: true, isWideOnly: true, render: ({ run }) => countText(run.trainedTokens) },
  { label: 'Cost', isNumber: true, isWideOnly: true, render: ({ run }) => costText(run.cost) },
  { label: 'Started', isWideOnly: true, render: ({ run }) => shortTimeText(run.createTimeMs) },
];

function RunName({ run: { runId, name, tags } }: { readonly run: RunSummary }): ReactNode {
  return (
    <>
      <Link to="/runs/$runId" params={{ runId }} className="row-title foreign" data-row="">
        {name}
      </Link>
      <span className="muted mono">{runId}</span>
      {tags.map((tag) => (
        <Link key={tag} to="/" search={(search) => runsSearch({ ...search, tag })} className="badge tag foreign">
          {tag}
        </Link>
      ))}
    </>
  );
}

function RunState({ run, nowMs }: Row): ReactNode {
  const { warnings } = run;
  return (
    <>
      <RunBadge run={run} nowMs={nowMs} />
      {warnings === 0 ? null : (
        <div>
          <span className="badge" data-tone="warn">
            {warnings === 1 ? '1 warning' : `${warnings} warnings`}
          </span>
        </div>
      )}
    </>
  );
}

function CompareLink(): ReactNode {
  const runIds = runIdsOf(route.useSearch().compare);
  if (runIds.length < 2) return null;
  return (
    <p>
      <Link to="/compare" search={{ runs: runIds.join(',') }}>
        Compare {runIds.length} runs
      </Link>
    </p>
  );
}

function CompareBox({ run: { runId, name } }: { readonly run: RunSummary }): ReactNode {
  const runIds = runIdsOf(route.useSearch().compare);
  const navigate = useNavigate();
  const isChosen = runIds.includes(runId);
  const toggle = (): void => {
    const next = isChosen ? runIds.filter((each) => each !== runId) : [...runIds, runId];
    void navigate({ to: '/', search: (search) => runsSearch({ ...search, compare: next.join(',') }), replace: true });
  };
  return (
    <input
      type="checkbox"
      aria-label={`Compare ${name}`}
      checked={isChosen}
      disabled={!isChosen && runIds.length >= maxCompared}
      onChange={toggle}
    />
  );
}

const width = 120;
const height = 28;
const margin = 2;

/** A small curve without axes. */
function Sparkline(props: { readonly values: readonly number[]; readonly label: string }): ReactNode {
  const { values, label } = props;
  if (values.length < 2) return <span className="muted">–</span>;
  const low = Math.min(...values);
  const high = Math.max(...values);
  const points = values
    .map((value, index) => {
      const x = margin + (index / (values.length - 1)) * (width - 2 * margin);
      const y = margin + (1 - (high === low ? 0.5 : (value - low) / (high - low))) * (height - 2 * margin);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
  return (
    <svg className="sparkline" width={width} height={height} role="img" aria-label={label}>
      <polyline points={points} />
    </svg>
  );
}
