import { type ReactNode, useMemo } from 'react';
import type { MetricSeries, RunMetrics } from '../../src/api/run-views.ts';
import { LineChart } from '../charts/line-chart.tsx';
import { metricLine } from '../charts/metric-line.ts';
import { numberText } from '../data/format.ts';
import { groupedSeries, metricMeaning } from '../data/metric-title.ts';
import { nearestIndex } from '../parts/step-scrubber.tsx';

/** Number of charts that are drawn; more metrics are listed by their last value. */
const maxCharts = 24;

/** Every metric of a run, with a search field. */
export function MetricBrowser(props: {
  readonly metrics: RunMetrics;
  /** The step whose values are shown; null for the latest. */
  readonly step: number | null;
  readonly search: string;
  readonly onSearch: (search: string) => void;
}): ReactNode {
  const { metrics, step, search, onSearch } = props;
  const index = step === null ? null : nearestIndex(metrics.steps, step);
  const shown = metrics.series.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
  const groups = groupedSeries(shown);
  const drawn = new Set(groups.flatMap(({ series }) => series.map(({ name }) => name)).slice(0, maxCharts));
  return (
    <section className="panel" aria-labelledby="metrics-title">
      <h2 id="metrics-title">All metrics</h2>
      <div className="filters">
        <label>
          Search
          <input type="search" value={search} onChange={({ target }) => onSearch(target.value)} data-search="" />
        </label>
        <span className="muted" role="status">{`${shown.length} of ${metrics.series.length}`}</span>
        {metrics.bucketSize === 1 ? null : (
          <span className="muted">{`Each point averages ${metrics.bucketSize} steps; bands show the extremes.`}</span>
        )}
      </div>
      {shown.length === 0 ? <p className="muted">No metric has this name. Change the search.</p> : null}
      {groups.map(({ title, series }) => (
        <div key={title}>
          <h3>{title}</h3>
          <div className="metric-list">
            {series.map((each) => (
              <Metric
                key={each.name}
                series={each}
                steps={metrics.steps}
                index={index}
                isDrawn={drawn.has(each.name)}
              />
            ))}
          </div>
        </div>
      ))}
    </section>
  );
}

function Metric(props: {
  readonly series: MetricSeries;
  readonly steps: readonly number[];
  /** The index of the shown value; null for the last one. */
  readonly index: number | null;
  readonly isDrawn: boolean;
}): ReactNode {
  const { series, steps, index, isDrawn } = props;
  const value = index === null ? series.mean.findLast((each) => each !== null) : series.mean[index];
  const lines = useMemo(() => [{ ...metricLine(series, 0), label: 'value' }], [series]);
  return (
    <div>
      <h4 className="foreign" title={metricMeaning(series.name)}>
        {series.name} <span className="muted">{numberText(value)}</span>
      </h4>
      {isDrawn ? <LineChart title={series.name} steps={steps} lines={lines} height={110} hasLegend={false} /> : null}
    </div>
  );
}
