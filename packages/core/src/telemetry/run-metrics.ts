import { canaryMetrics } from './canary-metric-catalogue.ts';
import { runMetrics } from './run-metric-catalogue.ts';
import { runtimeMetrics } from './runtime-metric-catalogue.ts';

/** What a metric of a run counts or measures, with the range that follows from it; null for no bound. */
export const metricUnits: Readonly<Record<MetricUnit, readonly [low: number | null, high: number | null]>> = {
  reward: [null, null],
  nats: [null, null],
  number: [null, null],
  share: [0, 1],
  ratio: [0, null],
  rollouts: [0, null],
  groups: [0, null],
  calls: [0, null],
  rewards: [0, null],
  rows: [0, null],
  tokens: [0, null],
  turns: [0, null],
  pairs: [0, null],
  tasks: [0, null],
  steps: [0, null],
  'policy versions': [null, null],
  'tokens/s': [0, null],
  seconds: [0, null],
  bytes: [0, null],
  currency: [0, null],
};

/** The unit of a metric. `nats` are of log-probabilities, `currency` is that of the prices. */
export type MetricUnit =
  | 'reward'
  | 'nats'
  | 'number'
  | 'share'
  | 'ratio'
  | 'rollouts'
  | 'groups'
  | 'calls'
  | 'rewards'
  | 'rows'
  | 'tokens'
  | 'turns'
  | 'pairs'
  | 'tasks'
  | 'steps'
  | 'policy versions'
  | 'tokens/s'
  | 'seconds'
  | 'bytes'
  | 'currency';

/** A metric that a run records for each step, or that a runtime reports for each pass. */
export interface RunMetric {
  /** Its name; `<part>` stands for any text, which makes it a family of metrics. */
  readonly name: string;
  readonly unit: MetricUnit;
  /** A noun phrase. */
  readonly title: string;
  /** Which values are better; absent where neither is. */
  readonly better?: 'higher' | 'lower';
  /** Bounds, where they differ from those of the unit. */
  readonly bounds?: readonly [low: number | null, high: number | null];
  /** What else a reader must know, in sentences. */
  readonly note?: string;
}

/** The titles of the groups: the first segment of the names, in the order of the documentation. */
export const metricGroups: Readonly<Record<string, string>> = {
  reward: 'Rewards',
  collection: 'Collection of rollouts',
  rollouts: 'Rollouts',
  failures: 'Failures',
  groups: 'Groups',
  rewards: 'Rewards without a trained call',
  calls: 'Model calls',
  response: 'Responses',
  rows: 'Token rows',
  tokens: 'Tokens',
  turns: 'Turns',
  canary: 'Candidates of deployments',
  advantage: 'Advantages',
  staleness: 'Staleness',
  sampler: 'Sampler correction',
  policy: 'Policy',
  value: 'Value head',
  preference: 'Preferences',
  optim: 'Optimizer',
  teacher: 'Teacher',
  curriculum: 'Curriculum',
  validation: 'Versions of a prompt search',
  search: 'Budget of a prompt search',
  time: 'Time',
  cost: 'Cost',
  train: 'Passes of the runtime',
  optimizer: 'Optimizer steps of the runtime',
  step: 'Steps of the runtime',
  memory: 'Memory of the runtime',
};

const placeholder = /<\w+>/;

/** The metrics of runs and runtimes, in the order of the documentation. */
export function allRunMetrics(): readonly RunMetric[] {
  return [...Object.values(runMetrics), ...Object.values(canaryMetrics), ...Object.values(runtimeMetrics)];
}

/** The name of a metric of a family: `failures/timeout` of `failures/<cause>`. */
export function familyMetric({ name }: RunMetric, part: string | number): string {
  return name.replace(placeholder, () => String(part));
}

/** The part of a metric of a family: `timeout` for `failures/timeout`; null for any other metric. */
export function familyPart(family: RunMetric, name: string): string | null {
  const [before = '', after = ''] = family.name.split(placeholder);
  const isMember = name.length > before.length + after.length && name.startsWith(before) && name.endsWith(after);
  return isMember ? name.slice(before.length, name.length - after.length) : null;
}

/** The entry of a metric by the name that a run recorded; null for a metric of a custom algorithm. */
export function findRunMetric(name: string): RunMetric | null {
  const all = allRunMetrics();
  const found =
    all.find((metric) => metric.name === name) ??
    all.find((metric) => placeholder.test(metric.name) && familyPart(metric, name) !== null);
  if (found !== undefined) return found;
  // Metrics of a named policy have its name before them.
  const separator = name.indexOf('/');
  return separator < 0 ? null : findRunMetric(name.slice(separator + 1));
}

/** Whether a recorded name is that of a metric, of the run or of a named policy: `writer/policy/entropy`. */
export function isMetricOf(metric: RunMetric, name: string): boolean {
  return name === metric.name || name.endsWith(`/${metric.name}`);
}

/** The range of a metric's values; null for no bound. */
export function metricBounds({ bounds, unit }: RunMetric): readonly [low: number | null, high: number | null] {
  return bounds ?? metricUnits[unit];
}
