import type { MetricPoint } from '@agentlightning/core/store';
import type { MetricSeries, RunMetrics } from '../api/run-views.ts';

/**
 * The metrics of a run with at most `points` buckets of consecutive steps. A bucket has the mean of its steps, and their
 * minimum and maximum, so that a spike stays visible.
 *
 * @param points - at least 1
 */
export function downSample(records: readonly MetricPoint[], points: number): RunMetrics {
  const bucketSize = Math.max(1, Math.ceil(records.length / points));
  const buckets = Array.from({ length: Math.ceil(records.length / bucketSize) }, (_, index) =>
    records.slice(index * bucketSize, (index + 1) * bucketSize),
  );
  const names = [...new Set(records.flatMap(({ values }) => Object.keys(values)))].sort();
  return {
    steps: buckets.map((bucket) => bucket.at(-1)?.step ?? 0),
    timesMs: buckets.map((bucket) => bucket.at(-1)?.timeMs ?? 0),
    totalSteps: records.length,
    bucketSize,
    series: names.map((name) => seriesOf(name, buckets, bucketSize)),
  };
}

function seriesOf(name: string, buckets: readonly (readonly MetricPoint[])[], bucketSize: number): MetricSeries {
  const values = buckets.map((bucket) => bucket.flatMap((point) => point.values[name] ?? []));
  const mean = values.map(meanOf);
  if (bucketSize === 1) return { name, mean };
  const extreme = (pick: (...numbers: number[]) => number): (number | null)[] =>
    values.map((list) => (list.length === 0 ? null : pick(...list)));
  return { name, mean, low: extreme(Math.min), high: extreme(Math.max) };
}

/** The mean; null of no values. */
export function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The means of consecutive parts of a curve, at most `points` of them. */
export function thinCurve(values: readonly number[], points: number): readonly number[] {
  const size = Math.max(1, Math.ceil(values.length / points));
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) => {
    return meanOf(values.slice(index * size, (index + 1) * size)) ?? 0;
  });
}
