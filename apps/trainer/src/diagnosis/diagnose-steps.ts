import { mean } from '../evaluation/mean.ts';
import { alteredPrefix, alteredSamplingText } from '../rollouts/call-metrics.ts';
import type { DiagnosisSettings } from './diagnosis-settings.ts';
import type { RunWarning, WarningName } from './run-warning.ts';

/** The recorded metrics of a step. */
export interface StepRecord {
  readonly step: number;
  readonly values: Readonly<Record<string, number>>;
  /** The first failure of an agent in the step. @default none */
  readonly failure?: string | null;
}

/** The steps of a run, with its policies and range of rewards. */
export interface StepHistory {
  /** All finished steps, in order. */
  readonly steps: readonly StepRecord[];
  /** The names of the trained policies; null for the only one of a run without named policies. */
  readonly policies: readonly (string | null)[];
  /** The lowest and the highest reward possible. */
  readonly range: readonly [low: number, high: number];
  /** Parts of the reward with a negative weight, which are to fall. @default none */
  readonly penalised?: ReadonlySet<string>;
}

/** The warnings whose conditions hold after the last step, and did not hold after the step before. */
export function diagnoseSteps(history: StepHistory, settings: DiagnosisSettings): readonly RunWarning[] {
  const before = new Set(conditions({ ...history, steps: history.steps.slice(0, -1) }, settings).map(conditionKey));
  return conditions(history, settings).filter((warning) => !before.has(conditionKey(warning)));
}

function conditionKey({ name, policy }: RunWarning): string {
  return `${name}/${policy ?? ''}`;
}

function conditions(history: StepHistory, settings: DiagnosisSettings): readonly RunWarning[] {
  const last = history.steps.at(-1);
  if (last === undefined) return [];
  const found = history.policies.flatMap((policy) => {
    const metrics = new PolicyMetrics(history, policy);
    return Object.entries(detectors).flatMap(([name, detect]) => {
      const message = detect(metrics, settings);
      return message === null ? [] : [{ name: name as keyof typeof detectors, step: last.step, policy, message }];
    });
  });
  return [...found, ...runConditions(history, last, settings)];
}

/** The share of rollouts whose agents fail, above which `agent-failures` is reported. */
export const failingShare = 0.25;

/** The conditions of the run as a whole. */
function runConditions(
  history: StepHistory,
  { step, values, failure = null }: StepRecord,
  settings: DiagnosisSettings,
): readonly RunWarning[] {
  const {
    steps,
    range: [low, high],
  } = history;
  const recent = steps.slice(-settings.steps).map((each) => each.values['failures/agent_share'] ?? 0);
  const share = mean(recent) ?? 0;
  const failing = `the agents of ${Math.round(share * 100)} % of the rollouts failed in ${stepsText(recent.length)}`;
  const altered = Object.fromEntries(
    Object.entries(values).flatMap(([name, count]) =>
      name.startsWith(alteredPrefix) ? [[name.slice(alteredPrefix.length), count]] : [],
    ),
  );
  const falling = fallingPart(history, settings.steps);
  const outside = values['reward/out_of_range'] ?? 0;
  const outsideText = `${outside} rewards are outside of ${low} to ${high}`;
  return [
    ...(share > failingShare
      ? [{ name: 'agent-failures' as const, message: failure === null ? failing : `${failing}; the first: ${failure}` }]
      : []),
    ...(Object.keys(altered).length > 0
      ? [{ name: 'altered-sampling' as const, message: alteredSamplingText(altered) }]
      : []),
    ...(falling === null ? [] : [{ name: 'reward-part-falls' as const, message: falling }]),
    ...(outside > 0 ? [{ name: 'reward-out-of-range' as const, message: outsideText }] : []),
  ].map((condition) => ({ ...condition, step, policy: null }));
}

/** The fall of a part's mean that is reported, in standard deviations of the part over the rollouts of the first steps. */
const partFall = 0.5;

/** A part of the reward whose mean in the last steps is below that of the first ones, while the reward rises. */
function fallingPart({ steps, penalised }: StepHistory, count: number): string | null {
  if (steps.length < 2 * count) return null;
  const meanOf = (part: readonly StepRecord[], name: string): number | null =>
    mean(part.flatMap(({ values }) => values[name] ?? []));
  const [first, last] = [steps.slice(0, count), steps.slice(-count)];
  const rewards = [first, last].map((part) => meanOf(part, 'collection/reward_mean') ?? 0);
  if ((rewards[1] ?? 0) <= (rewards[0] ?? 0)) return null;
  const parts = Object.keys(last[0]?.values ?? {}).flatMap((name) => /^reward\/(.+)\/mean$/.exec(name)?.[1] ?? []);
  for (const part of parts) {
    const before = meanOf(first, `reward/${part}/mean`);
    const after = meanOf(last, `reward/${part}/mean`);
    const spread = meanOf(first, `reward/${part}/std`) ?? 0;
    if (penalised?.has(part) || before === null || after === null || spread === 0) continue;
    if (before - after > partFall * spread) {
      return (
        `the part \`${part}\` of the training reward fell from ${before.toFixed(2)} to ${after.toFixed(2)}, ` +
        `while the reward rose from ${rewards[0]?.toFixed(2)} to ${rewards[1]?.toFixed(2)}`
      );
    }
  }
  return null;
}

/** The metrics of a policy over the steps of a run. */
class PolicyMetrics {
  readonly range: StepHistory['range'];
  readonly #steps: readonly StepRecord[];
  readonly #prefix: string;

  constructor({ steps, range }: StepHistory, policy: string | null) {
    this.range = range;
    this.#steps = steps;
    this.#prefix = policy === null ? '' : `${policy}/`;
  }

  /** The values of the last `count` steps; null unless each of them has one. */
  last(name: string, count: number): readonly number[] | null {
    const values = this.#steps.slice(-count).flatMap((step) => this.#value(step, name));
    return values.length === count ? values : null;
  }

  /** The values of the last steps that have one; null when the last step has none, or too few have. */
  lastKnown(name: string, count: number): readonly number[] | null {
    const values = this.#steps.flatMap((step) => this.#value(step, name));
    return this.last(name, 1) === null || values.length < count ? null : values.slice(-count);
  }

  /** The value of the first step that has one. */
  first(name: string): number | null {
    for (const step of this.#steps) {
      const [value] = this.#value(step, name);
      if (value !== undefined) return value;
    }
    return null;
  }

  /** The mean reward of the run's last steps. */
  reward(count: number): number | null {
    const steps = this.#steps.slice(-count);
    return mean(steps.flatMap(({ values }) => values['collection/reward_mean'] ?? values['reward/mean'] ?? []));
  }

  #value({ values }: StepRecord, name: string): readonly number[] {
    const value = values[this.#prefix + name];
    return value === undefined ? [] : [value];
  }
}

/** The share of the limit of a publication's gap above which it is reported. */
const driftShare = 0.5;

/** Returns what was observed; null when the condition does not hold. */
type Detector = (metrics: PolicyMetrics, settings: DiagnosisSettings) => string | null;

/** The share of the range of rewards above which a low entropy means that the task is solved. */
const solvedShare = 0.9;

const detectors: Readonly<Partial<Record<WarningName, Detector>>> = {
  'constant-rewards': (metrics, { steps }) => {
    // Demonstrations all have one reward, and are learned without comparison.
    const imitated = metrics.last('rollouts/imitated', 1)?.[0] ?? 0;
    const isConstant = metrics.last('reward/std', steps)?.every((spread) => spread === 0) === true;
    if (imitated > 0 || !isConstant) return null;
    const reward = metrics.reward(steps);
    return `all rewards of a step are equal, ${reward?.toPrecision(3)} in the mean, for ${stepsText(steps)}`;
  },
  'constant-groups': (metrics, { steps }) => {
    const constant = metrics.last('groups/constant', steps)?.every((count) => count > 0) === true;
    const isConstant = constant && hasZeroAdvantages(metrics, steps);
    return isConstant ? `the rewards within every group are equal, for ${stepsText(steps)}` : null;
  },
  'zero-advantages': (metrics, { steps }) =>
    hasZeroAdvantages(metrics, steps)
      ? `all advantages are 0, so no update has a learning signal, for ${stepsText(steps)}`
      : null,
  'entropy-collapse': (metrics, { steps, entropyCollapse }) => {
    const [low, high] = metrics.range;
    const reward = metrics.reward(steps);
    if (reward === null || reward >= low + solvedShare * (high - low)) return null;
    return entropyText(metrics, steps, (entropy, first) => entropy < entropyCollapse * first);
  },
  'entropy-explosion': (metrics, { steps, entropyExplosion }) =>
    entropyText(metrics, steps, (entropy, first) => entropy > entropyExplosion * first),
  'kl-blow-up': (metrics, { maxReferenceKl, maxSamplerKl }) =>
    divergenceText(metrics, { name: 'policy/kl_reference', from: 'the initial model', limit: maxReferenceKl }) ??
    divergenceText(metrics, { name: 'policy/kl_sampler_k3', from: 'the sampling policy', limit: maxSamplerKl }),
  'high-clip-fraction': (metrics, { steps, maxClipFraction }) => {
    const recent = metrics.lastKnown('policy/clip_fraction', steps);
    if (recent?.every((fraction) => fraction > maxClipFraction) !== true) return null;
    return `the loss clips ${percentText(recent)} of the training tokens, for ${stepsText(steps)}`;
  },
  'low-effective-samples': (metrics, { steps, minEffectiveSamples }) => {
    const recent = metrics.lastKnown('policy/effective_sample_fraction', steps);
    if (recent?.every((fraction) => fraction < minEffectiveSamples) !== true) return null;
    return `the training tokens of a step count as ${percentText(recent)} of their number, for ${stepsText(steps)}`;
  },
  'sampler-drift': (metrics) => {
    const [gap] = metrics.last('policy/publish_gap', 1) ?? [];
    const [limit] = metrics.last('policy/publish_gap_limit', 1) ?? [];
    if (gap === undefined || limit === undefined || gap <= driftShare * limit) return null;
    return `sampler and trainer differ by ${gap.toPrecision(3)} nats per token after a publication, with a limit of ${limit.toPrecision(3)}`;
  },
};

function hasZeroAdvantages(metrics: PolicyMetrics, steps: number): boolean {
  return metrics.last('advantage/zero_share', steps)?.every((share) => share === 1) === true;
}

function entropyText(
  metrics: PolicyMetrics,
  steps: number,
  isWrong: (entropy: number, first: number) => boolean,
): string | null {
  const first = metrics.first('policy/entropy');
  const recent = metrics.lastKnown('policy/entropy', steps);
  if (first === null || recent === null || !recent.every((entropy) => isWrong(entropy, first))) return null;
  return `entropy is ${recent.at(-1)?.toPrecision(3)} nats per token, and was ${first.toPrecision(3)} in the first step`;
}

function divergenceText(
  metrics: PolicyMetrics,
  { name, from, limit }: { readonly name: string; readonly from: string; readonly limit: number },
): string | null {
  const [divergence] = metrics.last(name, 1) ?? [];
  if (divergence === undefined || divergence <= limit) return null;
  return `the KL divergence from ${from} is ${divergence.toPrecision(3)} nats per token, above ${limit}`;
}

/** The last of some shares. */
function percentText(shares: readonly number[]): string {
  return `${Math.round((shares.at(-1) ?? 0) * 100)} %`;
}

function stepsText(steps: number): string {
  return steps === 1 ? '1 step' : `${steps} steps in a row`;
}
