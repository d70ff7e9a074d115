import { runMetrics } from '@agentlightning/core/metrics';
import { type RunWarning, type WarningName, warningThresholds } from '@agentlightning/core/protocol';
import { mean } from '../events/mean.ts';
import { impliedWarnings } from '../events/run-warning.ts';
import type { StepRecord } from '../run/step-records.ts';
import { runConditions, type StepHistory, stepsText } from './run-conditions.ts';

/** The warnings whose conditions hold after the last step, and did not hold after the step before. */
export function diagnoseSteps(history: StepHistory): readonly RunWarning[] {
  const before = new Set(conditions({ ...history, steps: history.steps.slice(0, -1) }).map(conditionKey));
  return conditions(history).filter((warning) => !before.has(conditionKey(warning)));
}

function conditionKey({ name, policy }: RunWarning): string {
  return `${name}/${policy ?? ''}`;
}

function conditions(history: StepHistory): readonly RunWarning[] {
  const last = history.steps.at(-1);
  if (last === undefined) return [];
  const found = history.policies.flatMap((policy) => {
    const metrics = new PolicyMetrics(history, policy);
    return Object.entries(detectors).flatMap(([name, detect]) => {
      const message = detect(metrics);
      return message === null ? [] : [{ name: name as keyof typeof detectors, step: last.step, policy, message }];
    });
  });
  return oneForEachCause([...found, ...runConditions(history, last)]);
}

/** The conditions without those that follow from another one: a cause has one warning. */
function oneForEachCause(found: readonly RunWarning[]): readonly RunWarning[] {
  return found.filter(
    ({ name, policy }) =>
      !found.some(
        (other) => (other.policy === null || other.policy === policy) && impliedWarnings[other.name]?.includes(name),
      ),
  );
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

  /** The values of the run as a whole in the last `count` steps; null unless each of them has one. */
  ofRun(name: string, count: number): readonly number[] | null {
    const values = this.#steps.slice(-count).flatMap((step) => step.values[name] ?? []);
    return values.length === count ? values : null;
  }

  /** The mean reward of the run's last steps. */
  reward(count: number): number | null {
    const steps = this.#steps.slice(-count);
    return mean(
      steps.flatMap(
        ({ values }) => values[runMetrics.collectionRewardMean.name] ?? values[runMetrics.rewardMean.name] ?? [],
      ),
    );
  }

  #value({ values }: StepRecord, name: string): readonly number[] {
    const value = values[this.#prefix + name];
    return value === undefined ? [] : [value];
  }
}

/** The share of the limit of a publication's gap above which it is reported. */
const driftShare = 0.5;

/** Returns what was observed; null when the condition does not hold. */
type Detector = (metrics: PolicyMetrics) => string | null;

/** The share of the range of rewards above which a low entropy means that the task is solved. */
const solvedShare = 0.9;

/** The share of truncated responses that explains a missing learning signal. */
const truncatedShare = 0.5;

/** The share of different responses of a group from which equal rewards do not follow from equal responses. */
const distinctShare = 0.5;

/** The share of the range of rewards at its ends in which all rollouts may fail, or succeed. */
const extremeShare = 0.02;

/** Change of the log-probability of a token in a step, in nats, below which a policy does not move in a usual run. */
const smallestChange = 2e-3;

const { steps, entropyCollapse, entropyExplosion, maxReferenceKl, maxSamplerKl, maxClipFraction, minEffectiveSamples } =
  warningThresholds;

const detectors: Readonly<Partial<Record<WarningName, Detector>>> = {
  'constant-rewards': (metrics) => {
    // Demonstrations all have one reward, and are learned without comparison, as are the tokens that a teacher scores.
    const { rolloutsImitated, teacherRollouts } = runMetrics;
    const isCompared = [rolloutsImitated, teacherRollouts].every(({ name }) => (metrics.last(name, 1)?.[0] ?? 0) === 0);
    const isConstant = metrics.last(runMetrics.rewardStd.name, steps)?.every((spread) => spread === 0) === true;
    if (!isCompared || !isConstant) return null;
    const reward = metrics.reward(steps);
    return `all rewards of a step are equal, ${reward?.toPrecision(3)} in the mean, for ${stepsText(steps)}`;
  },
  'constant-groups': (metrics) => {
    const constant = metrics.last(runMetrics.groupsConstant.name, steps)?.every((count) => count > 0) === true;
    const isConstant = constant && hasZeroAdvantages(metrics, steps);
    return isConstant ? `the rewards within every group are equal, for ${stepsText(steps)}` : null;
  },
  'zero-advantages': (metrics) =>
    hasZeroAdvantages(metrics, steps)
      ? `all advantages are 0, so no update has a learning signal, for ${stepsText(steps)}`
      : null,
  'truncated-responses': (metrics) => {
    const shares = metrics.ofRun(runMetrics.responseTruncatedShare.name, steps);
    if (shares?.every((share) => share >= truncatedShare) !== true || !hasZeroAdvantages(metrics, steps)) return null;
    if (isExtreme(metrics, steps, 'high')) return null;
    const isConstant = metrics.last(runMetrics.rewardStd.name, steps)?.every((spread) => spread === 0) === true;
    // Cut responses usually fail. A reward above the lowest one may be a constant.
    const reward = isConstant && !isExtreme(metrics, steps, 'low') ? metrics.reward(steps) : null;
    const constant =
      reward === null ? '' : `; every reward is ${reward.toPrecision(3)}: check that it depends on the response`;
    return `the token limit cut ${percentText(shares)} of the responses, and no update has a learning signal, for ${stepsText(steps)}${constant}`;
  },
  'all-responses-truncated': (metrics) => {
    const shares = metrics.ofRun(runMetrics.responseTruncatedShare.name, steps);
    if (shares?.every((share) => share === 1) !== true || hasZeroAdvantages(metrics, steps)) return null;
    return isExtreme(metrics, steps, 'high') ? null : `the token limit cut all responses, for ${stepsText(steps)}`;
  },
  'reward-ignores-response': (metrics) => {
    const distinct = metrics.ofRun(runMetrics.responseDistinctShare.name, steps);
    if (distinct?.every((share) => share >= distinctShare) !== true || !hasZeroAdvantages(metrics, steps)) return null;
    // All at the lowest or at the highest reward: the tasks may be too hard, or solved.
    if (isExtreme(metrics, steps, 'low') || isExtreme(metrics, steps, 'high')) return null;
    return (
      `the rewards within every group are equal, ${metrics.reward(steps)?.toPrecision(3)} in the mean, although ${percentText(distinct)} of the ` +
      `responses to a task differ, for ${stepsText(steps)}`
    );
  },
  'weights-do-not-move': (metrics) => {
    const changes = metrics.lastKnown(runMetrics.policyUpdateChange.name, steps);
    if (changes === null || Math.max(...changes) >= smallestChange) return null;
    const rate = metrics.lastKnown(runMetrics.learningRate.name, 1)?.[0] ?? 0;
    return `a step changes the log-probability of a token by ${(mean(changes) ?? 0).toPrecision(2)} nats, with the learning rate ${rate}, for ${stepsText(steps)}`;
  },
  'entropy-collapse': (metrics) => {
    const [low, high] = metrics.range;
    const reward = metrics.reward(steps);
    if (reward === null || reward >= low + solvedShare * (high - low)) return null;
    return entropyText(metrics, steps, (entropy, first) => entropy < entropyCollapse * first);
  },
  'entropy-explosion': (metrics) => entropyText(metrics, steps, (entropy, first) => entropy > entropyExplosion * first),
  'kl-blow-up': (metrics) =>
    divergenceText(metrics, {
      name: runMetrics.policyKlReference.name,
      from: 'the initial model',
      limit: maxReferenceKl,
    }) ??
    divergenceText(metrics, {
      name: runMetrics.policyKlSamplerK3.name,
      from: 'the sampling policy',
      limit: maxSamplerKl,
    }),
  'high-clip-fraction': (metrics) => {
    const recent = metrics.lastKnown(runMetrics.policyClipFraction.name, steps);
    if (recent?.every((fraction) => fraction > maxClipFraction) !== true) return null;
    return `the loss clips ${percentText(recent)} of the training tokens, for ${stepsText(steps)}`;
  },
  'low-effective-samples': (metrics) => {
    const recent = metrics.lastKnown(runMetrics.policyEffectiveSampleFraction.name, steps);
    if (recent?.every((fraction) => fraction < minEffectiveSamples) !== true) return null;
    return `the training tokens of a step count as ${percentText(recent)} of their number, for ${stepsText(steps)}`;
  },
  'sampler-drift': (metrics) => {
    const [gap] = metrics.last(runMetrics.policyPublishGap.name, 1) ?? [];
    const [limit] = metrics.last(runMetrics.policyPublishGapLimit.name, 1) ?? [];
    if (gap === undefined || limit === undefined || gap <= driftShare * limit) return null;
    return `sampler and trainer differ by ${gap.toPrecision(3)} nats per token after a publication, with a limit of ${limit.toPrecision(3)}`;
  },
};

/** Whether the mean reward of the last steps is at an end of the range. */
function isExtreme(metrics: PolicyMetrics, steps: number, end: 'low' | 'high'): boolean {
  const [low, high] = metrics.range;
  const reward = metrics.reward(steps) ?? low;
  const margin = extremeShare * (high - low);
  return end === 'low' ? reward <= low + margin : reward >= high - margin;
}

function hasZeroAdvantages(metrics: PolicyMetrics, steps: number): boolean {
  return metrics.last(runMetrics.advantageZeroShare.name, steps)?.every((share) => share === 1) === true;
}

function entropyText(
  metrics: PolicyMetrics,
  steps: number,
  isWrong: (entropy: number, first: number) => boolean,
): string | null {
  const first = metrics.first(runMetrics.policyEntropy.name);
  const recent = metrics.lastKnown(runMetrics.policyEntropy.name, steps);
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
