import { findRunMetric, metricGroups, type RunMetric } from '@agentlightning/core/metrics';
import type { MetricSeries } from '../../src/api/run-views.ts';

/** Units that the title of a metric does not name. */
const shownUnits: readonly string[] = ['nats', 'seconds', 'bytes', 'tokens/s', 'policy versions'];

/** The title of a metric with its unit: `Entropy (nats)`. */
export function metricTitle({ title, unit }: RunMetric): string {
  return shownUnits.includes(unit) ? `${title} (${unit})` : title;
}

/** What a recorded metric means, for a tooltip; undefined for a metric of a custom algorithm. */
export function metricMeaning(name: string): string | undefined {
  const metric = findRunMetric(name);
  if (metric === null) return undefined;
  const better = metric.better === undefined ? [] : [`${metric.better === 'higher' ? 'Higher' : 'Lower'} is better.`];
  return [`${metricTitle(metric)}.`, ...(metric.note === undefined ? [] : [metric.note]), ...better].join(' ');
}

/** Recorded metrics under the titles of their groups, in the order of the catalogue; those of custom algorithms last. */
export function groupedSeries(
  series: readonly MetricSeries[],
): readonly { readonly title: string; readonly series: readonly MetricSeries[] }[] {
  const groups = new Map<string, MetricSeries[]>([...Object.values(metricGroups), 'Other'].map((title) => [title, []]));
  for (const each of series) {
    const group = findRunMetric(each.name)?.name.split('/')[0] ?? '';
    groups.get(metricGroups[group] ?? 'Other')?.push(each);
  }
  return [...groups].flatMap(([title, members]) => (members.length === 0 ? [] : [{ title, series: members }]));
}
