import { type ReactNode, useMemo } from 'react';
import type { RunDetail, RunMetrics } from '../../src/api/run-views.ts';
import type { ChartLine } from '../charts/chart-view.ts';
import { LineChart } from '../charts/line-chart.tsx';
import { metricLine } from '../charts/metric-line.ts';
import { numberText } from '../data/format.ts';
import { type HealthLimits, type HealthMetric, healthSeries, isOutside } from '../data/health-metrics.ts';
import { metricTitle } from '../data/metric-title.ts';

/** A health metric with its limits, and the warnings of the run about it. */
export function HealthPanel(props: {
  readonly metric: HealthMetric;
  readonly run: RunDetail;
  readonly metrics: RunMetrics;
}): ReactNode {
  const { metric, run, metrics } = props;
  const series = useMemo(
    () => healthSeries(metrics, metric).map((each) => ({ series: each, limits: metric.limits(run, each, metrics) })),
    [metrics, metric, run],
  );
  const lines = useMemo(
    () => series.flatMap((each, index) => [metricLine(each.series, index), ...limitLines(each.limits, metrics)]),
    [series, metrics],
  );
  if (series.length === 0) return null;
  const id = `health-${metric.metric.name.replace('/', '-')}`;
  const title = metricTitle(metric.metric);
  const hasWarning = series.some((each) => isOutside(each.series, each.limits));
  const warnings = run.runWarnings.filter(({ name }) => metric.warnings.includes(name));
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id} title={metric.metric.note}>
        {title}{' '}
        {hasWarning ? (
          <span className="badge" data-tone="bad">
            beyond its limit
          </span>
        ) : null}
      </h2>
      <LineChart title={title} steps={metrics.steps} lines={lines} height={150} />
      {series.map((each) => (
        <LimitText key={each.series.name} limits={each.limits} />
      ))}
      {warnings.map(({ name, step, policy, message }) => (
        <p key={`${name} ${step} ${policy}`} className="error foreign">
          <span className="badge" data-tone="warn">
            {name}
          </span>{' '}
          {`Step ${step}${policy === null ? '' : `, policy ${policy}`}: ${message}`}
        </p>
      ))}
    </section>
  );
}

/** Dashed lines at the limits, which do not stretch the axis. */
function limitLines({ low, high }: HealthLimits, { steps }: RunMetrics): readonly ChartLine[] {
  const line = (label: string, limit: number | null): readonly ChartLine[] =>
    limit === null ? [] : [{ label, values: steps.map(() => limit), color: '--bad', isLimit: true }];
  return [...line('lower limit', low), ...line('upper limit', high)];
}

function LimitText({ limits: { low, high } }: { readonly limits: HealthLimits }): ReactNode {
  if (low === null && high === null) return null;
  const parts = [low === null ? '' : `from ${numberText(low)}`, high === null ? '' : `to ${numberText(high)}`];
  return <p className="muted">{`Healthy ${parts.join(' ').trim()}`}</p>;
}
