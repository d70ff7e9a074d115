import { seededRandom } from '../base/seeded-random.ts';
import { assertFinite, type MeanInterval, type MeanIntervalOptions } from './mean-interval.ts';
import { twoSidedQuantile, twoSidedTail } from './student-t.ts';

/** Options of {@link bootstrapMean}. */
export interface BootstrapOptions extends MeanIntervalOptions {
  /** The number of resamples, at least 100. @default 10000 */
  readonly resamples?: number;
  /** Seed of the resampling. Equal seeds give equal intervals. @default 0 */
  readonly seed?: number;
}

/**
 * The mean of values in clusters, with its bootstrap confidence interval: the rewards of tasks with several samples each, or
 * their paired differences.
 *
 * Whole clusters are resampled, since the samples of a task depend on each other (Davison and Hinkley 1997, section 3.8). The
 * interval is the bias-corrected and accelerated one, BCa (Efron 1987, "Better Bootstrap Confidence Intervals", JASA 82,
 * 171–185). Its percentiles are widened for few clusters, `z` to `t·√(n/(n − 1))` with `n − 1` degrees of freedom (Hesterberg
 * 2015, "What Teachers Should Know About the Bootstrap", The American Statistician 69, 371–386). A resampled mean lies within
 * the values, so the interval lies within their range.
 *
 * When the means of all clusters are equal, the resamples do not differ. The interval is then that of a population in which
 * a share of at most `u = z²/(n + z²)` has other values (Wilson's bound for 0 of n): `[x − u·(x − low), x + u·(high − x)]`.
 *
 * @param clusters - the values by cluster; empty clusters are ignored
 * @throws AgentLightningError with code `INVALID_REWARD` when there is no value or one is not finite
 *
 * @example
 * ```ts
 * const { mean, low, high } = bootstrapMean([[1, 1], [0, 1], [0, 0], [1, 0]]); // two samples of each of four tasks
 * ```
 */
export function bootstrapMean(clusters: readonly (readonly number[])[], options: BootstrapOptions = {}): MeanInterval {
  const values = clusters.flat();
  assertFinite(values);
  const totals = clusters
    .filter((cluster) => cluster.length > 0)
    .map((cluster) => ({ sum: cluster.reduce((sum, value) => sum + value, 0), count: cluster.length }));
  const mean = ratio(totals);
  const isConstant = totals.every(({ sum, count }) => isEqual(sum / count, mean));
  const bounds = isConstant ? constantBounds(mean, totals.length, options) : bcaBounds(totals, mean, options);
  return { mean, ...bounds, count: values.length };
}

/** Sums of equal values may differ in their last digits. */
function isEqual(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1e-12 * Math.max(1, Math.abs(other));
}

/** The sum and the number of the values of a cluster. */
interface ClusterTotal {
  readonly sum: number;
  readonly count: number;
}

interface Bounds {
  readonly low: number;
  readonly high: number;
}

function ratio(totals: readonly ClusterTotal[]): number {
  return totals.reduce((sum, total) => sum + total.sum, 0) / totals.reduce((sum, { count }) => sum + count, 0);
}

function constantBounds(value: number, clusters: number, options: BootstrapOptions): Bounds {
  const [low, high] = options.range ?? [0, 1];
  const z2 = twoSidedQuantile(options.confidence ?? 0.95, Infinity) ** 2;
  const share = z2 / (clusters + z2);
  return { low: value - share * Math.max(0, value - low), high: value + share * Math.max(0, high - value) };
}

function bcaBounds(totals: readonly ClusterTotal[], mean: number, options: BootstrapOptions): Bounds {
  const means = resampledMeans(totals, options);
  const clusters = totals.length;
  const quantile = twoSidedQuantile(options.confidence ?? 0.95, clusters - 1) * Math.sqrt(clusters / (clusters - 1));
  const below = means.reduce((count, each) => count + (isEqual(each, mean) ? 0.5 : each < mean ? 1 : 0), 0);
  // Limits the bias to a finite value.
  const bias = normalQuantile(Math.min(1 - 0.5 / means.length, Math.max(0.5 / means.length, below / means.length)));
  const acceleration = jackknifeAcceleration(totals);
  const bound = (z: number): number => {
    const shifted = bias + z;
    const share = normalShare(bias + shifted / Math.max(Number.EPSILON, 1 - acceleration * shifted));
    return percentile(means, share);
  };
  return { low: bound(-quantile), high: bound(quantile) };
}

/** The means of resamples, ascending. */
function resampledMeans(
  totals: readonly ClusterTotal[],
  { resamples = 10_000, seed = 0 }: BootstrapOptions,
): Float64Array {
  const random = seededRandom(seed);
  const sums = Float64Array.from(totals, ({ sum }) => sum);
  const counts = Float64Array.from(totals, ({ count }) => count);
  const means = Float64Array.from({ length: Math.max(100, resamples) }, () => {
    let sum = 0;
    let count = 0;
    for (let drawn = 0; drawn < sums.length; drawn += 1) {
      const index = Math.floor(random() * sums.length);
      sum += sums[index] ?? 0;
      count += counts[index] ?? 0;
    }
    return sum / count;
  });
  return means.sort();
}

/** `Σd³ / (6·(Σd²)^1.5)` with `d` the mean of the jackknife's means minus each of them. */
function jackknifeAcceleration(totals: readonly ClusterTotal[]): number {
  const sum = totals.reduce((all, total) => all + total.sum, 0);
  const count = totals.reduce((all, total) => all + total.count, 0);
  const without = totals.map((total) => (sum - total.sum) / (count - total.count));
  const centre = without.reduce((all, each) => all + each, 0) / without.length;
  const squares = without.reduce((all, each) => all + (centre - each) ** 2, 0);
  return squares === 0 ? 0 : without.reduce((all, each) => all + (centre - each) ** 3, 0) / (6 * squares ** 1.5);
}

/** A percentile of ascending values, interpolated linearly. */
function percentile(values: Float64Array, share: number): number {
  const position = Math.min(1, Math.max(0, share)) * (values.length - 1);
  const lower = values[Math.floor(position)] ?? Number.NaN;
  const upper = values[Math.ceil(position)] ?? lower;
  return lower + (upper - lower) * (position - Math.floor(position));
}

/** The share of the normal distribution below `z`. */
function normalShare(z: number): number {
  const tail = twoSidedTail(z, Infinity) / 2;
  return z < 0 ? tail : 1 - tail;
}

function normalQuantile(share: number): number {
  if (share === 0.5) return 0;
  return share < 0.5 ? -twoSidedQuantile(1 - 2 * share, Infinity) : twoSidedQuantile(2 * share - 1, Infinity);
}
