import { useQueries, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { countText } from '../data/format.ts';
import { runQuery, storeQuery, totalQuery } from '../data/queries.ts';
import { type DatasetSearch, datasetFormats, datasetSearch, datasetSources } from '../dataset-search.ts';
import { FailureNotice } from '../parts/notice.tsx';
import { RunHead } from '../parts/run-head.tsx';
import { rolloutModes } from '../rollout-filters.ts';

const route = getRouteApi('/runs/$runId/dataset');

const labels = [
  ['good', 'Good'],
  ['bad', 'Bad'],
  ['none', 'Without a label'],
] as const;

/** The labels of a run, and its data set for fine-tuning. */
export function DatasetPage(): ReactNode {
  const { runId } = route.useParams();
  const { data: run } = useQuery(runQuery(runId));
  return (
    <>
      <RunHead runId={runId} run={run} />
      <Labels runId={runId} />
      <Export runId={runId} />
    </>
  );
}

function Labels({ runId }: { readonly runId: string }): ReactNode {
  const filters = labels.map(([label]) => ({ run: runId, label, status: 'succeeded,failed' }));
  const totals = useQueries({ queries: filters.map(totalQuery) });
  const failed = totals.find(({ error }) => error !== null);
  if (failed?.error) return <FailureNotice error={failed.error} onRetry={() => void failed.refetch()} />;
  return (
    <section className="panel" aria-labelledby="labels-title">
      <h2 id="labels-title">Labels of people</h2>
      <dl className="tiles">
        {labels.map(([label, text], index) => (
          <div key={label} className="tile">
            <dt>{text}</dt>
            <dd>
              <Link to="/rollouts" search={{ run: runId, label }}>
                {countText(totals[index]?.data?.total)}
              </Link>
            </dd>
          </div>
        ))}
      </dl>
      <p className="muted">
        Open a rollout to label it good or bad, to prefer it to another one of its group, or to add a note. The link
        “Label one after another” goes through the rollouts of the run without a label.
      </p>
    </section>
  );
}

function Export({ runId }: { readonly runId: string }): ReactNode {
  const search = route.useSearch();
  const { from = 'annotations', format = 'chat', mode = 'train', minReward } = search;
  const navigate = useNavigate();
  const { data: store } = useQuery(storeQuery());
  const change = (changes: DatasetSearch): void =>
    void navigate({
      to: '/runs/$runId/dataset',
      params: { runId },
      search: datasetSearch({ ...search, ...changes }),
      replace: true,
    });
  const isBounded = from === 'rewards' && format === 'chat';
  const minimum = isBounded && minReward !== undefined ? { minReward: String(minReward) } : {};
  const query = new URLSearchParams({ from, format, mode, ...minimum });
  const flag = 'minReward' in minimum ? ` --min-reward ${minimum.minReward}` : '';
  return (
    <section className="panel" aria-labelledby="export-title">
      <h2 id="export-title">Data set</h2>
      <div className="filters">
        <Choice
          label="Selected by"
          value={from}
          options={datasetSources}
          onChange={(value) => change({ from: value })}
        />
        <Choice
          label="Format"
          value={format}
          options={datasetFormats}
          onChange={(value) => change({ format: value })}
        />
        <Choice label="Mode" value={mode} options={rolloutModes} onChange={(value) => change({ mode: value })} />
        {isBounded ? (
          <label>
            Lowest reward
            <input
              type="number"
              step="any"
              value={minReward ?? ''}
              onChange={({ target }) => change({ minReward: target.value === '' ? undefined : Number(target.value) })}
            />
          </label>
        ) : null}
        {store?.hasDatasets === true ? (
          <a href={`/api/runs/${encodeURIComponent(runId)}/dataset?${query}`} download>
            Download
          </a>
        ) : null}
      </div>
      <p className="muted">
        {format === 'chat'
          ? 'Conversations to imitate (SFT), in the format of OpenAI’s fine-tuning API: '
          : 'Pairs of a better and a worse response to the same request (DPO), in the format of OpenAI’s fine-tuning API: '}
        {from === 'annotations' ? 'rollouts labelled good, and preferences.' : 'by the rewards of the agent.'}
      </p>
      <p>The same by program:</p>
      <pre>{`agl dataset --run ${runId} --format ${format} --by ${from} --mode ${mode}${flag} --out data.jsonl`}</pre>
    </section>
  );
}

function Choice<TValue extends string>(props: {
  readonly label: string;
  readonly value: TValue;
  readonly options: readonly TValue[];
  readonly onChange: (value: TValue) => void;
}): ReactNode {
  const { label, value, options, onChange } = props;
  return (
    <label>
      {label}
      <select value={value} onChange={({ target }) => onChange(target.value as TValue)}>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}
