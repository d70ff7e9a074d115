import { useQueries } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { RunDetail, RunMetrics } from '../../src/api/run-views.ts';
import { type ChartLine, LineChart } from '../charts/line-chart.tsx';
import { lineColor } from '../charts/metric-line.ts';
import { costText, durationText, numberText, verdictText } from '../data/format.ts';
import { metricsQuery, runQuery } from '../data/queries.ts';
import { EmptyNotice, FailureNotice } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { ScrollRegion } from '../parts/scroll-region.tsx';
import { RunBadge } from '../parts/status-badge.tsx';
import { maxCompared, runIdsOf } from '../run-selection.ts';

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
  const { metric: chosen, runs } = route.useSearch();
  const navigate = useNavigate();
  const names = [...new Set(compared.flatMap(({ metrics }) => metrics.series.map(({ name }) => name)))].sort();
  const metric = chosen ?? defaultMetric(names);
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
                void navigate({ to: '/compare', search: { runs, metric: target.value }, replace: true })
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
        </div>
        <MetricChart compared={compared} metric={metric} />
      </section>
    </>
  );
}

/** The mean reward, or another reward: a prompt search has no training steps. */
function defaultMetric(names: readonly string[]): string {
  const known = names.includes('reward/mean') ? undefined : names.find((name) => /reward|score/.test(name));
  return known ?? 'reward/mean';
}

function MetricChart(props: { readonly compared: readonly ComparedRun[]; readonly metric: string }): ReactNode {
  const { compared, metric } = props;
  // The list is new on every render; its contents change only with the data.
  const key = compared.map(({ run, metrics }) => `${run.runId} ${metrics.totalSteps} ${run.updateTimeMs}`).join(',');
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for the runs
  const chart = useMemo(() => chartOf(compared, metric), [key, metric]);
  if (chart.lines.every(({ values }) => values.every((value) => value === null)))
    return <p className="muted">No run has recorded this metric yet.</p>;
  return <LineChart title={`${metric} by step`} {...chart} height={340} />;
}

function chartOf(compared: readonly ComparedRun[], metric: string) {
  const steps = [...new Set(compared.flatMap(({ metrics }) => metrics.steps))].sort((one, other) => one - other);
  const lines = compared.map(({ run, metrics }, index): ChartLine => {
    const series = metrics.series.find(({ name }) => name === metric);
    const byStep = new Map(metrics.steps.map((step, position) => [step, series?.mean[position] ?? null]));
    return { label: runLabel(run), values: steps.map((step) => byStep.get(step) ?? null), color: lineColor(index) };
  });
  return { steps, lines };
}

function runLabel({ name, runId }: RunDetail): string {
  return `${name} (${runId})`;
}

function RunTable({ compared }: { readonly compared: readonly ComparedRun[] }): ReactNode {
  return (
    <ScrollRegion label="Compared runs">
      <table>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Status</th>
            <th scope="col" className="number">
              Step
            </th>
            <th scope="col" className="number">
              Held-out before
            </th>
            <th scope="col" className="number">
              After
            </th>
            <th scope="col">Verdict</th>
            <th scope="col" className="number">
              Training reward
            </th>
            <th scope="col" className="number">
              Duration
            </th>
            <th scope="col" className="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {compared.map(({ run }, index) => (
            <tr key={run.runId}>
              <td>
                <i className="swatch" style={{ background: `var(${lineColor(index)})` }} />{' '}
                <Link to="/runs/$runId" params={{ runId: run.runId }} data-row="" className="foreign">
                  {runLabel(run)}
                </Link>
              </td>
              <td>
                <RunBadge run={run} nowMs={run.nowMs} />
              </td>
              <td className="number">{run.step}</td>
              <td className="number">{numberText(run.rewardBefore)}</td>
              <td className="number">{numberText(run.rewardAfter)}</td>
              <td>{verdictText(run.verdict)}</td>
              <td className="number">{numberText(run.rewardCurve.at(-1))}</td>
              <td className="number">{durationText(run.updateTimeMs - run.createTimeMs)}</td>
              <td className="number">{costText(run.cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
