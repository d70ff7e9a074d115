import { isMetricOf, type RunMetric, runMetrics } from '@agentlightning/core/metrics';
import { warningThresholds } from '@agentlightning/core/protocol';
import type { MetricSeries, RunDetail, RunMetrics } from '../../src/api/run-views.ts';

/** A metric that shows whether training is stable. */
export interface HealthMetric {
  readonly metric: RunMetric;
  /** The names of the warnings about it. */
  readonly warnings: readonly string[];
  /** The thresholds of the run for a series. */
  readonly limits: (run: RunDetail, series: MetricSeries, metrics: RunMetrics) => HealthLimits;
}

/** The range in which a metric is healthy; null for no limit. */
export interface HealthLimits {
  readonly low: number | null;
  readonly high: number | null;
}

const none: HealthLimits = { low: null, high: null };

const withoutLimits = (): HealthLimits => none;

/** The metrics that show whether training is stable, in order of display. */
export const healthMetrics: readonly HealthMetric[] = [
  {
    metric: runMetrics.policyEntropy,
    warnings: ['entropy-collapse', 'entropy-explosion'],
    limits: (_run, { mean }) => {
      const first = mean.find((value) => value !== null) ?? null;
      if (first === null) return none;
      const { entropyCollapse, entropyExplosion } = warningThresholds;
      return { low: entropyCollapse * first, high: entropyExplosion * first };
    },
  },
  {
    metric: runMetrics.policyKlReference,
    warnings: ['kl-blow-up'],
    limits: () => ({ low: null, high: warningThresholds.maxReferenceKl }),
  },
  {
    metric: runMetrics.policyKlSamplerK3,
    warnings: ['kl-blow-up'],
    limits: () => ({ low: null, high: warningThresholds.maxSamplerKl }),
  },
  {
    metric: runMetrics.policyClipFraction,
    warnings: ['high-clip-fraction'],
    limits: () => ({ low: null, high: warningThresholds.maxClipFraction }),
  },
  {
    metric: runMetrics.policyLogprobGap,
    warnings: [],
    limits: (run) => ({ low: null, high: settingOf(run, 'stop', 'maxLogprobGap') }),
  },
  {
    metric: runMetrics.policyPublishGap,
    warnings: ['sampler-drift'],
    limits: (_run, { name }, { series }) => {
      const limit = series.find((each) => each.name === `${name}_limit`);
      return { low: null, high: limit?.mean.findLast((value) => value !== null) ?? null };
    },
  },
  {
    metric: runMetrics.policyEffectiveSampleFraction,
    warnings: ['low-effective-samples'],
    limits: () => ({ low: warningThresholds.minEffectiveSamples, high: null }),
  },
  {
    metric: runMetrics.samplerEffectiveSampleFraction,
    warnings: ['low-effective-samples'],
    limits: () => ({ low: warningThresholds.minEffectiveSamples, high: null }),
  },
  {
    metric: runMetrics.stalenessMean,
    warnings: [],
    limits: (run) => ({ low: null, high: settingOf(run, 'algorithm', 'maxStaleness') }),
  },
  {
    metric: runMetrics.gradientNorm,
    warnings: [],
    limits: (run) => ({ low: null, high: settingOf(run, 'algorithm', 'gradientClipNorm') }),
  },
  {
    metric: runMetrics.groupsConstant,
    warnings: ['constant-groups', 'constant-rewards', 'zero-advantages'],
    limits: withoutLimits,
  },
  { metric: runMetrics.policyLoss, warnings: [], limits: withoutLimits },
];

/** The series of a health metric: one for each policy. */
export function healthSeries({ series }: RunMetrics, { metric }: HealthMetric): readonly MetricSeries[] {
  return series.filter(({ name }) => isMetricOf(metric, name));
}

/** Whether the last value of a series is outside of its limits. */
export function isOutside({ mean }: MetricSeries, { low, high }: HealthLimits): boolean {
  const last = mean.findLast((value) => value !== null) ?? null;
  return last !== null && ((low !== null && last < low) || (high !== null && last > high));
}

/** A number in the recorded configuration; null without it. */
function settingOf({ config }: RunDetail, ...path: readonly string[]): number | null {
  let value: unknown = config;
  for (const name of path) {
    value = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : null;
  }
  return typeof value === 'number' ? value : null;
}
