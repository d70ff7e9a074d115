import { familyMetric, familyPart, runMetrics } from '@agentlightning/core/metrics';
import { type RunWarning, warningThresholds } from '@agentlightning/core/protocol';
import { mean } from '../events/mean.ts';
import type { StepRecord } from '../run/step-records.ts';

/** The share of rollouts whose agents fail, above which `agent-failures` is reported. */
export const failingShare = 0.25;

/** The conditions of the run as a whole. */
export function runConditions(
  history: StepHistory,
  { step, values, failure = null }: StepRecord,
): readonly RunWarning[] {
  const {
    steps,
    range: [low, high],
  } = history;
  const recent = steps
    .slice(-warningThresholds.steps)
    .map((each) => each.values[runMetrics.failuresAgentShare.name] ?? 0);
  const share = mean(recent) ?? 0;
  const failing = `the agents of ${Math.round(share * 100)} % of the rollouts failed in ${stepsText(recent.length)}`;
  const altered = Object.fromEntries(
    Object.entries(values).flatMap(([name, count]) => {
      const parameter = familyPart(runMetrics.callsAlteredSampling, name);
      return parameter === null ? [] : [[parameter, count]];
    }),
  );
  const collapse = collapseText(history, warningThresholds.steps);
  const falling = fallingPart(history, warningThresholds.steps);
  const drift = lengthDrift(history, warningThresholds.steps);
  const outside = values[runMetrics.rewardOutOfRange.name] ?? 0;
  const outsideText = `${outside} rewards are outside of ${low} to ${high}`;
  return [
    ...(share > failingShare
      ? [
          {
            name: failuresName(history, warningThresholds.steps),
            message: failure === null ? failing : `${failing}; the first: ${failure}`,
          },
        ]
      : []),
    ...(Object.keys(altered).length > 0
      ? [{ name: 'altered-sampling' as const, message: alteredSamplingText(altered) }]
      : []),
    ...(collapse === null ? [] : [{ name: 'policy-collapse' as const, message: collapse }]),
    ...(falling === null ? [] : [{ name: 'proxy-diverges' as const, message: falling }]),
    ...(drift === null ? [] : [{ name: 'length-drift' as const, message: drift }]),
    ...(outside > 0 ? [{ name: 'reward-out-of-range' as const, message: outsideText }] : []),
  ].map((condition) => ({ ...condition, step, policy: null }));
}

/** The warning of failing agents, by what most of them failed of. */
function failuresName({ steps }: StepHistory, count: number): 'agent-failures' | 'agent-timeouts' {
  const recent = steps.slice(-count);
  const sumOf = (name: string): number => recent.reduce((sum, { values }) => sum + (values[name] ?? 0), 0);
  return 2 * sumOf(familyMetric(runMetrics.failures, 'timeout')) > sumOf(runMetrics.rolloutsFailed.name)
    ? 'agent-timeouts'
    : 'agent-failures';
}

/** The fall of a part's mean that is reported, in standard deviations of the part over the rollouts of the first steps. */
const partFall = 0.5;

/** A part of the reward whose mean in the last steps is below that of the first ones, while the reward rises. */
function fallingPart({ steps, penalised }: StepHistory, count: number): string | null {
  if (steps.length < 2 * count) return null;
  const meanOf = (part: readonly StepRecord[], name: string): number | null =>
    mean(part.flatMap(({ values }) => values[name] ?? []));
  const [first, last] = [steps.slice(0, count), steps.slice(-count)];
  const rewards = [first, last].map((part) => meanOf(part, runMetrics.collectionRewardMean.name) ?? 0);
  if ((rewards[1] ?? 0) <= (rewards[0] ?? 0)) return null;
  const parts = Object.keys(last[0]?.values ?? {}).flatMap((name) => familyPart(runMetrics.rewardPartMean, name) ?? []);
  for (const part of parts) {
    const before = meanOf(first, familyMetric(runMetrics.rewardPartMean, part));
    const after = meanOf(last, familyMetric(runMetrics.rewardPartMean, part));
    const spread = meanOf(first, familyMetric(runMetrics.rewardPartStd, part)) ?? 0;
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

/** Responses that became longer while longer ones are rewarded more than their siblings. */
function lengthDrift({ steps }: StepHistory, count: number): string | null {
  if (steps.length < 2 * count) return null;
  const meanOf = (part: readonly StepRecord[], name: string): number | null =>
    mean(part.flatMap(({ values }) => values[name] ?? []));
  const [first, last] = [steps.slice(0, count), steps.slice(-count)];
  const before = meanOf(first, runMetrics.responseTokensMean.name);
  const after = meanOf(last, runMetrics.responseTokensMean.name);
  const correlation = meanOf(last, runMetrics.responseLengthCorrelation.name);
  const { lengthGrowth, lengthCorrelation } = warningThresholds;
  if (before === null || after === null || correlation === null) return null;
  if (after < lengthGrowth * before || correlation < lengthCorrelation) return null;
  return (
    `responses have ${after.toFixed(0)} tokens in the mean, and had ${before.toFixed(0)} in the first steps; within groups, ` +
    `length and reward have a rank correlation of ${correlation.toFixed(2)}`
  );
}

/** The fall of the mean reward that is a collapse: to less than half of its best, and by a fifth of the range. */
const collapse = { share: 0.5, ofRange: 0.2 };

/** Whether the mean reward of the last steps is far below the best one before, after updates. */
function collapseText({ steps, range: [low, high] }: StepHistory, count: number): string | null {
  const rewards = steps.map(
    ({ values }) => values[runMetrics.collectionRewardMean.name] ?? values[runMetrics.rewardMean.name] ?? null,
  );
  const now = mean(rewards.slice(-count).filter((reward) => reward !== null));
  if (now === null || steps.length <= count) return null;
  let best: { readonly reward: number; readonly step: number } | null = null;
  for (const [index, { step }] of steps.slice(0, -count).entries()) {
    // The first step is before any update, so its reward is that of the initial weights.
    const window = index === 0 ? rewards.slice(0, 1) : rewards.slice(Math.max(0, index - count + 1), index + 1);
    const reward = mean(window.filter((each) => each !== null));
    if (reward !== null && reward > (best?.reward ?? Number.NEGATIVE_INFINITY)) best = { reward, step };
  }
  if (best === null) return null;
  const hasFallen =
    now - low < collapse.share * (best.reward - low) && best.reward - now > collapse.ofRange * (high - low);
  if (!hasFallen) return null;
  const rate = steps.at(-1)?.values[runMetrics.learningRate.name];
  return (
    `the training reward fell from ${best.reward.toFixed(2)} at step ${best.step} to ${now.toFixed(2)}` +
    (rate === undefined ? '' : `, with the learning rate ${rate}`)
  );
}

/** What altered sampling means for training, as a clause. */
export function alteredSamplingText(counts: Readonly<Record<string, number>>): string {
  const names = Object.entries(counts).map(
    ([name, count]) => `\`${name}\` (${count} model ${count === 1 ? 'call' : 'calls'})`,
  );
  return `requests have ${names.join(' and ')}, so tokens are sampled with other probabilities than the policy's`;
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

/** A number of successive steps, as text. */
export function stepsText(steps: number): string {
  return steps === 1 ? '1 step' : `${steps} steps in a row`;
}
