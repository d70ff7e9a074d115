import type { MetricPoint } from '@agentlightning/core/store';
import type { MetricSeries, RunMetrics } from '../api/run-views.ts';

/** The most ranges of steps that are kept of a run, however many steps it has. */
const maxRanges = 1000;

/** The most metrics that are kept of a run. */
const maxNames = 1000;

/** The values of a metric in consecutive ranges of steps. */
interface Ranges {
  readonly sums: number[];
  readonly counts: number[];
  readonly lows: number[];
  readonly highs: number[];
}

/** The metrics of a run in at most 1,000 ranges of consecutive steps, added page by page. */
export class MetricRanges {
  /** The sum of each metric over all steps. */
  readonly totals: Map<string, number> = new Map();
  readonly #rangeSize: number;
  readonly #ranges: Map<string, Ranges> = new Map();
  readonly #steps: number[] = [];
  readonly #timesMs: number[] = [];
  #stepCount = 0;

  /** @param expectedSteps - the number of steps that will be added, more or less */
  constructor(expectedSteps: number) {
    this.#rangeSize = Math.max(1, Math.ceil(expectedSteps / maxRanges));
  }

  /** Adds further steps, in order. */
  add(points: readonly MetricPoint[]): void {
    for (const { step, timeMs, values } of points) {
      const range = Math.floor(this.#stepCount / this.#rangeSize);
      this.#stepCount += 1;
      this.#steps[range] = step;
      this.#timesMs[range] = timeMs;
      for (const [name, value] of Object.entries(values)) this.#addValue(name, range, value);
    }
  }

  /**
   * The metrics with at most `points` buckets of consecutive steps. A bucket has the mean of its steps, and their minimum and
   * maximum, so that a spike stays visible.
   *
   * @param points - at least 1
   */
  view(points: number): RunMetrics {
    const merged = Math.max(1, Math.ceil(this.#steps.length / points));
    const starts = Array.from({ length: Math.ceil(this.#steps.length / merged) }, (_, index) => index * merged);
    const lastOf = (values: readonly number[]): number[] =>
      starts.map((start) => values[Math.min(start + merged, values.length) - 1] ?? 0);
    const bucketSize = merged * this.#rangeSize;
    const buckets = starts.map((start) => ({ start, end: start + merged }));
    return {
      steps: lastOf(this.#steps),
      timesMs: lastOf(this.#timesMs),
      totalSteps: this.#stepCount,
      bucketSize,
      series: [...this.#ranges]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, ranges]) => seriesOf(name, ranges, { buckets, isExact: bucketSize === 1 })),
    };
  }

  #addValue(name: string, range: number, value: number): void {
    const known = this.#ranges.get(name);
    if (known === undefined && this.#ranges.size >= maxNames) return;
    const ranges = known ?? { sums: [], counts: [], lows: [], highs: [] };
    if (known === undefined) this.#ranges.set(name, ranges);
    this.totals.set(name, (this.totals.get(name) ?? 0) + value);
    ranges.sums[range] = (ranges.sums[range] ?? 0) + value;
    ranges.counts[range] = (ranges.counts[range] ?? 0) + 1;
    ranges.lows[range] = Math.min(ranges.lows[range] ?? value, value);
    ranges.highs[range] = Math.max(ranges.highs[range] ?? value, value);
  }
}

function seriesOf(
  name: string,
  { sums, counts, lows, highs }: Ranges,
  at: { readonly buckets: readonly { readonly start: number; readonly end: number }[]; readonly isExact: boolean },
): MetricSeries {
  const each = (values: readonly number[], join: (present: readonly number[]) => number): (number | null)[] =>
    at.buckets.map(({ start, end }) => {
      // A range without a value is a hole.
      const present = values.slice(start, end).filter((value) => value !== undefined);
      return present.length === 0 ? null : join(present);
    });
  const total = (present: readonly number[]): number => present.reduce((sum, value) => sum + value, 0);
  const valueCounts = each(counts, total);
  const mean = each(sums, total).map((sum, index) => (sum === null ? null : sum / (valueCounts[index] ?? 1)));
  if (at.isExact) return { name, mean };
  return {
    name,
    mean,
    low: each(lows, (present) => Math.min(...present)),
    high: each(highs, (present) => Math.max(...present)),
  };
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
