import { familyMetric, type RunMetric } from '@agentlightning/core/metrics';

/** Counts by reason, such as the number of model calls excluded because they have no token ids. */
export type ReasonCounts = Readonly<Record<string, number>>;

/** Counts the reasons, in order of first occurrence. */
export function countReasons(reasons: Iterable<string>): ReasonCounts {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/** Sums counts, reason by reason. */
export function sumReasonCounts(all: Iterable<ReasonCounts>): ReasonCounts {
  const total = new Map<string, number>();
  for (const counts of all) {
    for (const [reason, count] of Object.entries(counts)) {
      total.set(reason, (total.get(reason) ?? 0) + count);
    }
  }
  return Object.fromEntries(total);
}

/** The sum of the counts of all reasons. */
export function totalCount(counts: ReasonCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Counts as metrics of a family: `{ partial: 2 }` becomes `calls/untrainable/partial: 2`. Reasons become valid metric names. */
export function reasonCountMetrics(family: RunMetric, counts: ReasonCounts): ReasonCounts {
  return sumReasonCounts(
    Object.entries(counts).map(([reason, count]) => ({ [familyMetric(family, metricName(reason))]: count })),
  );
}

function metricName(reason: string): string {
  const name = reason.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
  return name.slice(0, 48).replaceAll(/^_+|_+$/g, '') || 'unknown';
}
