import type { MetricSeries } from '../../src/api/run-views.ts';
import type { ChartLine } from './chart-view.ts';

/** Number of different colours of lines. */
const colorCount = 8;

/** The colour variable of the line at an index. */
export function lineColor(index: number): string {
  return `--series-${(index % colorCount) + 1}`;
}

/** A metric as a line, with its extremes as a band where steps are averaged. */
export function metricLine({ name, mean, low, high }: MetricSeries, index: number): ChartLine {
  return { label: name, values: mean, color: lineColor(index), ...(low && high ? { band: { low, high } } : {}) };
}
