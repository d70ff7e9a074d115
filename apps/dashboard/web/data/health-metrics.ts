import { warningThresholds } from '@agentlightning/core/protocol';
import type { MetricSeries, RunDetail, RunMetrics } from '../../src/api/run-views.ts';

/** A metric that shows whether training is stable. */
export interface HealthMetric {
  /** The name; metrics of a policy have the policy's name before it. */
  readonly ending: string;
  readonly title: string;
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
    ending: 'policy/entropy',
    title: 'Entropy (nats)',
    warnings: ['entropy-collapse', 'entropy-explosion'],
    limits: (_run, { mean }) => {
      const first = mean.find((value) => value !== null) ?? null;
      if (first === null) return none;
      const { entropyCollapse, entropyExplosion } = warningThresholds;
      return { low: entropyCollapse * first, high: entropyExplosion * first };
    },
  },
  {
    ending: 'policy/kl_reference',
    title: 'KL from the initial model (nats)',
    warnings: ['kl-blow-up'],
    limits: () => ({ low: null, high: warningThresholds.maxReferenceKl }),
  },
  {
    ending: 'policy/kl_sampler_k3',
    title: 'KL from the sampling policy (nats)',
    warnings: ['kl-blow-up'],
    limits: () => ({ low: null, high: warningThresholds.maxSamplerKl }),
  },
  {
    ending: 'policy/clip_fraction',
    title: 'Clip fraction',
    warnings: ['high-clip-fraction'],
    limits: () => ({ low: null, high: warningThresholds.maxClipFraction }),
  },
  {
    ending: 'policy/logprob_gap',
    title: 'Log-probability gap, sampler and trainer (nats)',
    warnings: [],
    limits: (run) => ({ low: null, high: settingOf(run, 'stop', 'maxLogprobGap') }),
  },
  {
    ending: 'policy/publish_gap',
    title: 'Gap after publication (nats)',
    warnings: ['sampler-drift'],
    limits: (_run, { name }, { series }) => {
      const limit = series.find((each) => each.name === `${name}_limit`);
      return { low: null, high: limit?.mean.findLast((value) => value !== null) ?? null };
    },
  },
  {
    ending: 'effective_sample_fraction',
    title: 'Effective sample fraction',
    warnings: ['low-effective-samples'],
    limits: () => ({ low: warningThresholds.minEffectiveSamples, high: null }),
  },
  {
    ending: 'staleness/mean',
    title: 'Staleness (policy versions)',
    warnings: [],
    limits: (run) => ({ low: null, high: settingOf(run, 'algorithm', 'maxStaleness') }),
  },
  {
    ending: 'optim/gradient_norm',
    title: 'Gradient norm',
    warnings: [],
    limits: (run) => ({ low: null, high: settingOf(run, 'algorithm', 'gradientClipNorm') }),
  },
  {
    ending: 'groups/constant',
    title: 'Groups with equal rewards',
    warnings: ['constant-groups', 'constant-rewards', 'zero-advantages'],
    limits: withoutLimits,
  },
  { ending: 'policy/loss', title: 'Loss', warnings: [], limits: withoutLimits },
];

/** The series of a health metric: one for each policy. */
export function healthSeries({ series }: RunMetrics, { ending }: HealthMetric): readonly MetricSeries[] {
  return series.filter(({ name }) => name === ending || name.endsWith(`/${ending}`));
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
