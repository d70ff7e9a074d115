import { compareSequentially } from '@agentlightning/algorithms/internal';
import type { CanaryEvidence } from './canary-evidence.ts';

/** The quantities that the sides of a trial are compared by. */
export const canaryMetrics = ['score', 'failures', 'latency', 'cost'] as const;

/** One of {@link canaryMetrics}, or a part of the reward of scorers: `score/<part>`. */
export type CanaryMetric = (typeof canaryMetrics)[number] | `score/${string}`;

/** Whether a candidate is better or worse: `not-shown` with too few users or too small a difference, `unknown` without values. */
export type Verdict = 'better' | 'worse' | 'not-shown' | 'unknown';

/** The comparison of one quantity. */
export interface MetricVerdict {
  readonly metric: CanaryMetric;
  readonly verdict: Verdict;
  /** Mean of the live version; null without values. Scores and shares of failed traces from 0 to 1, latency in seconds. */
  readonly live: number | null;
  readonly candidate: number | null;
  /** Numbers of users. */
  readonly liveCount: number;
  readonly candidateCount: number;
  /** Bounds of candidate minus live, which hold at all looks together; null without values. */
  readonly low: number | null;
  readonly high: number | null;
  /** Why it is unknown, or empty. */
  readonly reason: string;
}

/** The verdict on a candidate. */
export interface CanaryVerdict {
  /** By the score, unless another quantity is worse. */
  readonly verdict: Verdict;
  readonly metrics: readonly MetricVerdict[];
  /** Why the candidate is to be rolled back; null for no reason. */
  readonly guard: string | null;
}

/** Probability that any look at a trial without differences shows one, for all quantities together. */
const alpha = 0.05;

/** Users of the live version that only set the scale of latency and cost; the bounds need a scale that the values do not depend on. */
const scaleUnits = 20;

/** Latencies and costs above this multiple of the median count as it. */
const capOfMedian = 10;

/** Failures of the candidate in a row that are an outage. */
const outageFailures = 20;

/**
 * The verdict on a candidate, by a sequential test for each quantity: see `compareSequentially`. It may be read at any time and any
 * number of times.
 *
 * @param maxCostRatio - the multiple of the live version's cost above which the candidate is rolled back
 */
export function judgeCanary(evidence: CanaryEvidence, maxCostRatio: number): CanaryVerdict {
  const { live, candidate } = evidence;
  const score = compareShares('score', { live: live.scores, candidate: candidate.scores }, 'higher');
  const failures = compareShares('failures', { live: live.failures, candidate: candidate.failures }, 'lower');
  const latency = compareScaled('latency', { live: live.latencies, candidate: candidate.latencies });
  const cost = compareScaled('cost', { live: live.costs, candidate: candidate.costs });
  const metrics = [score, failures, latency.verdict, cost.verdict, ...compareParts(evidence)];
  const guard = guardOf(evidence, { score, failures, cost, maxCostRatio });
  const isWorse = score.verdict === 'worse' || failures.verdict === 'worse' || guard !== null;
  return { verdict: isWorse ? 'worse' : score.verdict, metrics, guard };
}

/**
 * The parts of the reward one by one, which are shown and decide nothing: they share another 5 %, and a fall of one may be what the
 * others gain.
 */
function compareParts({ live, candidate }: CanaryEvidence): readonly MetricVerdict[] {
  const names = [...new Set([...Object.keys(live.parts), ...Object.keys(candidate.parts)])];
  return names.map((name) => {
    const sides = { live: live.parts[name] ?? [], candidate: candidate.parts[name] ?? [] };
    return compareShares(`score/${name}`, sides, 'higher', alpha / names.length);
  });
}

interface Sides<TValue> {
  readonly live: readonly TValue[];
  readonly candidate: readonly TValue[];
}

function compareShares(
  metric: CanaryMetric,
  { live, candidate }: Sides<number>,
  better: 'higher' | 'lower',
  level = alpha / canaryMetrics.length,
): MetricVerdict {
  const outside = [...live, ...candidate].find((value) => !(value >= 0 && value <= 1));
  if (outside !== undefined) return unknown(metric, `a score is outside of 0 to 1: ${outside}`);
  if (live.length === 0 || candidate.length === 0) {
    const side = candidate.length === 0 ? 'candidate' : 'live version';
    return unknown(metric, metric === 'failures' ? `the ${side} has no traces yet` : `the ${side} has no scores yet`);
  }
  const { before, after, low, high } = compareSequentially(live, candidate, { alpha: level });
  const counts = { liveCount: before.count, candidateCount: after.count };
  const verdict = verdictOf(better === 'higher' ? { low, high } : { low: -high, high: -low });
  return { metric, verdict, live: before.mean, candidate: after.mean, ...counts, low, high, reason: '' };
}

/** A comparison of values without an upper limit, by the scale of the first users of the live version. */
function compareScaled(
  metric: CanaryMetric,
  { live, candidate }: Sides<number | null>,
): { readonly verdict: MetricVerdict; readonly ratioLow: number | null } {
  const known = [live, candidate].map((side) => side.filter((value) => value !== null));
  const [ofLive = [], ofCandidate = []] = known;
  if (ofLive.length < live.length || ofCandidate.length < candidate.length || live.length === 0) {
    const reason =
      metric === 'cost' ? 'not all models have a price (`run.prices` of their runs)' : 'there are no traces yet';
    return { verdict: unknown(metric, reason), ratioLow: null };
  }
  const scale = capOfMedian * median(ofLive.slice(0, scaleUnits));
  if (ofLive.length <= scaleUnits || ofCandidate.length === 0 || scale === 0) {
    const reason =
      scale === 0 ? 'most values are 0' : `the live version has ${ofLive.length} of more than ${scaleUnits} users`;
    return {
      verdict: unknown(metric, ofCandidate.length === 0 ? 'the candidate has no traces yet' : reason),
      ratioLow: null,
    };
  }
  const share = (value: number): number => Math.min(1, value / scale);
  const { before, after, low, high } = compareSequentially(
    ofLive.slice(scaleUnits).map(share),
    ofCandidate.map(share),
    {
      alpha: alpha / canaryMetrics.length,
    },
  );
  const scaled = (value: number | null): number | null => (value === null ? null : value * scale);
  return {
    verdict: {
      metric,
      verdict: verdictOf({ low: -high, high: -low }),
      live: scaled(before.mean),
      candidate: scaled(after.mean),
      liveCount: before.count,
      candidateCount: after.count,
      low: low * scale,
      high: high * scale,
      reason: '',
    },
    ratioLow: before.high === 0 ? null : after.low / before.high,
  };
}

interface GuardedQuantities {
  readonly score: MetricVerdict;
  readonly failures: MetricVerdict;
  readonly cost: ReturnType<typeof compareScaled>;
  readonly maxCostRatio: number;
}

function guardOf(
  { live, candidate }: CanaryEvidence,
  { score, failures, cost, maxCostRatio }: GuardedQuantities,
): string | null {
  // Users that fail all the time are few; the test by user would wait for more of them.
  if (candidate.failuresInARow >= outageFailures && live.failuresInARow < outageFailures) {
    return `the last ${candidate.failuresInARow} traces of the candidate failed`;
  }
  if (failures.verdict === 'worse') return `failures are shown to be more: ${textOf(failures, percent)}`;
  if (score.verdict === 'worse') return `the score is shown to be lower: ${textOf(score, (value) => value.toFixed(2))}`;
  if (cost.ratioLow !== null && cost.ratioLow > maxCostRatio) {
    return `the cost is shown to be more than ${maxCostRatio} times: ${textOf(cost.verdict, (value) => value.toPrecision(2))}`;
  }
  return null;
}

function textOf(
  { live, candidate, liveCount, candidateCount }: MetricVerdict,
  format: (value: number) => string,
): string {
  const side = (value: number | null, count: number): string =>
    `${value === null ? '-' : format(value)} of ${count} users`;
  return `${side(candidate, candidateCount)} instead of ${side(live, liveCount)}`;
}

function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

function verdictOf({ low, high }: { readonly low: number; readonly high: number }): Verdict {
  if (low > 0) return 'better';
  return high < 0 ? 'worse' : 'not-shown';
}

function unknown(metric: CanaryMetric, reason: string): MetricVerdict {
  const none = { live: null, candidate: null, liveCount: 0, candidateCount: 0, low: null, high: null };
  return { metric, verdict: 'unknown', ...none, reason };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
