import { runMetrics } from '@agentlightning/core/metrics';
import { useQueries, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { RunDetail, RunDifference, RunMetrics } from '../../src/api/run-views.ts';
import { type ChartSearch, chartSearch } from '../chart-search.ts';
import { ChartControls } from '../charts/chart-controls.tsx';
import { type ChartLine, type ChartView, ChartViewContext, stepTimes } from '../charts/chart-view.ts';
import { LineChart } from '../charts/line-chart.tsx';
import { lineColor } from '../charts/metric-line.ts';
import { costText, durationText, numberText, verdictText } from '../data/format.ts';
import { comparisonQuery, metricsQuery, runQuery } from '../data/queries.ts';
import { ConfigTable } from '../parts/config-panel.tsx';
import { type DataColumn, DataTable } from '../parts/data-table.tsx';
import { EmptyNotice, FailureNotice } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { RunBadge } from '../parts/status-badge.tsx';
import { maxCompared, runIdsOf } from '../runs-search.ts';
import { definedValues } from '../search-values.ts';

const route = getRouteApi('/compare');

/** A run with its metrics. */
interface ComparedRun {
  readonly run: RunDetail;
  readonly metrics: RunMetrics;
}

/** Several runs on shared axes. */
export function ComparePage(): ReactNode {
  const runIds = runIdsOf(route.useSearch().runs);
  const details = useQueries({ queries: runIds.map(runQuery) });
  const metrics = useQueries({ queries: runIds.map(metricsQuery) });
  const failed = [...details, ...metrics].find(({ error, data }) => error !== null && data === undefined);
  const compared = details.flatMap(({ data }, index): readonly ComparedRun[] => {
    const read = metrics[index]?.data;
    return data === undefined || read === undefined ? [] : [{ run: data, metrics: read }];
  });
  return (
    <>
      <PageTitle title="Compare runs" />
      {runIds.length < 2 ? (
        <EmptyNotice title="Choose runs to compare">
          Mark 2 to {maxCompared} runs on the page <Link to="/">Runs</Link>.
        </EmptyNotice>
      ) : null}
      {failed?.error ? <FailureNotice error={failed.error} onRetry={() => void failed.refetch()} /> : null}
      {runIds.length >= 2 && compared.length > 0 ? <Comparison compared={compared} /> : null}
    </>
  );
}

function Comparison({ compared }: { readonly compared: readonly ComparedRun[] }): ReactNode {
  const { metric: chosen, runs, axis, smooth } = route.useSearch();
  const navigate = useNavigate();
  const names = [...new Set(compared.flatMap(({ metrics }) => metrics.series.map(({ name }) => name)))].sort();
  const metric = chosen ?? defaultMetric(names);
  const charts = chartSearch({ axis, smooth });
  return (
    <>
      <RunTable compared={compared} />
      <section className="panel" aria-labelledby="compare-title">
        <h2 id="compare-title" className="foreign">
          {metric}
        </h2>
        <div className="filters">
          <label>
            Metric
            <select
              value={metric}
              onChange={({ target }) =>
                void navigate({ to: '/compare', search: { ...charts, runs, metric: target.value }, replace: true })
              }
            >
              {names.includes(metric) ? null : <option value={metric}>{metric}</option>}
              {names.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <ChartControls
            search={charts}
            onChange={(search) =>
              void navigate({
                to: '/compare',
                search: definedValues({ runs, metric: chosen, ...search }),
                replace: true,
              })
            }
          />
        </div>
        <MetricChart compared={compared} metric={metric} search={charts} />
      </section>
      <section className="panel" aria-labelledby="settings-title">
        <h2 id="settings-title">Settings that differ</h2>
        <ConfigTable runs={compared.map(({ run: { config, ...run } }) => ({ name: runLabel(run), config }))} />
      </section>
    </>
  );
}

/** The mean reward, or another reward: a prompt search has no training steps. */
function defaultMetric(names: readonly string[]): string {
  const known = names.includes(runMetrics.rewardMean.name)
    ? undefined
    : names.find((name) => /reward|score/.test(name));
  return known ?? runMetrics.rewardMean.name;
}

function MetricChart(props: {
  readonly compared: readonly ComparedRun[];
  readonly metric: string;
  readonly search: ChartSearch;
}): ReactNode {
  const { compared, metric, search } = props;
  const { axis, smooth = 0 } = search;
  // The list is new on every render; its contents change only with the data.
  const key = compared.map(({ run, metrics }) => `${run.runId} ${metrics.totalSteps} ${run.updateTimeMs}`).join(',');
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for the runs
  const chart = useMemo(() => chartOf(compared, metric, axis === 'time'), [key, metric, axis]);
  const view = useMemo((): ChartView => {
    return { step: null, smoothing: smooth, secondsAt: axis === 'time' ? (seconds) => seconds : null };
  }, [smooth, axis]);
  if (chart.lines.every(({ values }) => values.every((value) => value === null)))
    return <p className="muted">No run has recorded this metric yet.</p>;
  return (
    <ChartViewContext value={view}>
      <LineChart title={`${metric} by ${axis ?? 'step'}`} {...chart} height={340} />
    </ChartViewContext>
  );
}

/** The lines of a metric over steps, or over seconds since the start of each run. */
function chartOf(compared: readonly ComparedRun[], metric: string, isTime: boolean) {
  const places = compared.map(({ run, metrics }) =>
    isTime ? metrics.steps.map(stepTimes(metrics, run.createTimeMs)) : metrics.steps,
  );
  const steps = [...new Set(places.flat())].sort((one, other) => one - other);
  const lines = compared.map(({ run, metrics }, index): ChartLine => {
    const series = metrics.series.find(({ name }) => name === metric);
    const byStep = new Map(places[index]?.map((place, position) => [place, series?.mean[position] ?? null]));
    return { label: runLabel(run), values: steps.map((step) => byStep.get(step) ?? null), color: lineColor(index) };
  });
  return { steps, lines };
}

function runLabel({ name, runId }: Pick<RunDetail, 'name' | 'runId'>): string {
  return `${name} (${runId})`;
}

interface Row {
  readonly run: RunDetail;
  readonly color: string;
  /** Undefined for the first run. */
  readonly difference: RunDifference | undefined;
}

function RunTable({ compared }: { readonly compared: readonly ComparedRun[] }): ReactNode {
  const { data } = useQuery(comparisonQuery(compared.map(({ run }) => run.runId)));
  const rows = compared.map(({ run }, index): Row => {
    const difference = data?.differences.find(({ runId }) => runId === run.runId);
    return { run, color: lineColor(index), difference };
  });
  const isPaired = data?.differences.every((each) => each.isPaired) ?? true;
  return (
    <>
      <DataTable label="Compared runs" columns={columns} rows={rows} keyOf={({ run }) => run.runId} />
      <p className="muted">
        {isPaired
          ? 'Differences are those of the last held-out rewards from the first run, task by task, with their 95 % confidence interval.'
          : 'Differences are those of the last held-out rewards from the first run, with their 95 % confidence interval. Runs with other tasks are compared as independent samples.'}
      </p>
    </>
  );
}

const columns: readonly DataColumn<Row>[] = [
  {
    label: 'Run',
    render: ({ run, color }) => (
      <>
        <i className="swatch" style={{ background: `var(${color})` }} />{' '}
        <Link to="/runs/$runId" params={{ runId: run.runId }} data-row="" className="foreign">
          {runLabel(run)}
        </Link>
      </>
    ),
  },
  { label: 'Status', render: ({ run }) => <RunBadge run={run} nowMs={run.nowMs} /> },
  { label: 'Step', isNumber: true, isWideOnly: true, render: ({ run }) => run.step },
  { label: 'Held-out before', isNumber: true, render: ({ run }) => numberText(run.rewardBefore) },
  { label: 'After', isNumber: true, render: ({ run }) => numberText(run.rewardAfter) },
  { label: 'Verdict', isWideOnly: true, render: ({ run }) => verdictText(run.verdict) },
  { label: 'Difference from the first', isNumber: true, render: ({ difference }) => <Difference value={difference} /> },
  {
    label: 'Training reward',
    isNumber: true,
    isWideOnly: true,
    render: ({ run }) => numberText(run.rewardCurve.at(-1)),
  },
  {
    label: 'Duration',
    isNumber: true,
    isWideOnly: true,
    render: ({ run }) => durationText(run.updateTimeMs - run.createTimeMs),
  },
  { label: 'Cost', isNumber: true, isWideOnly: true, render: ({ run }) => costText(run.cost) },
];

/** A difference with its interval, and whether it is significant. */
function Difference({ value }: { readonly value: RunDifference | undefined }): ReactNode {
  if (value === undefined) return '–';
  const { difference, ci95, pValue } = value;
  if (difference === null) return 'no recorded rewards';
  const sign = difference > 0 ? '+' : '';
  if (ci95 === null || pValue === null) return `${sign}${numberText(difference)}`;
  const verdict = pValue >= 0.05 ? 'no difference shown' : difference > 0 ? 'better' : 'worse';
  return (
    <>
      {`${sign}${numberText(difference)} [${numberText(ci95[0])}, ${numberText(ci95[1])}] `}
      <span className="badge" data-tone={pValue >= 0.05 ? 'plain' : difference > 0 ? 'good' : 'bad'}>
        {`${verdict}, p ${pValue < 0.001 ? '< 0.001' : `= ${numberText(pValue)}`}`}
      </span>
    </>
  );
}
