/** Counts by reason, such as the number of model calls excluded because they have no token ids. */
export type Tally = Readonly<Record<string, number>>;

/** Counts the reasons, in order of first occurrence. */
export function tallyOf(reasons: Iterable<string>): Tally {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/** Adds tallies up, reason by reason. */
export function sumTallies(tallies: Iterable<Tally>): Tally {
  const total = new Map<string, number>();
  for (const tally of tallies) {
    for (const [reason, count] of Object.entries(tally)) {
      total.set(reason, (total.get(reason) ?? 0) + count);
    }
  }
  return Object.fromEntries(total);
}

/** The sum of a tally's counts. */
export function tallyTotal(tally: Tally): number {
  return Object.values(tally).reduce((sum, count) => sum + count, 0);
}

/**
 * A tally as metrics: `{ partial: 2 }` under `calls/untrainable` becomes `calls/untrainable/partial: 2`. Reasons are
 * converted to valid metric names.
 */
export function tallyMetrics(prefix: string, tally: Tally): Tally {
  return sumTallies(Object.entries(tally).map(([reason, count]) => ({ [`${prefix}/${metricName(reason)}`]: count })));
}

function metricName(reason: string): string {
  const name = reason.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
  return name.slice(0, 48).replaceAll(/^_+|_+$/g, '') || 'unknown';
}
