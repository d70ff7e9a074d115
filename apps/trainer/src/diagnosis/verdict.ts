import { comparePairs } from '@agentlightning/algorithms';
import type { VerdictName } from '@agentlightning/core/protocol';
import type { RewardDefinition } from '../config/reward-definition.ts';
import { byTask, type MeasuredRewards } from '../run/stored-evaluation.ts';

/** Whether an agent improved between two evaluations. */
export interface Verdict {
  readonly verdict: VerdictName;
  /** Whether the verdict is `better`; null when it is `undecided`. */
  readonly isImproved: boolean | null;
  /** The probability of a difference at least as large by chance; null when there is no pair of rewards. */
  readonly pValue: number | null;
  /** The share of samples without a reward before or after, from 0 to 1. */
  readonly missingShare: number;
  /** The means over the tasks with a reward in both; null without one. */
  readonly means: { readonly before: number; readonly after: number } | null;
}

/** The rewards of a task in two evaluations, over the samples with a reward in both. */
export interface TaskPairs {
  /** The index of the task. */
  readonly task: number;
  /** The mean rewards. */
  readonly before: number;
  readonly after: number;
  /** The reward after minus the reward before, of each sample. */
  readonly differences: readonly number[];
  /** The index of the first of these samples in the rewards. */
  readonly firstIndex: number;
}

/** The parts of evaluations that are compared. */
export type ComparedRewards = Pick<MeasuredRewards, 'rewards' | 'rolloutsPerTask'>;

/**
 * Pairs two evaluations by task and sample; pairs with a missing reward, and tasks without a pair, are excluded. Evaluations
 * with different numbers of samples are paired by the means of their tasks.
 */
export function pairByTask(
  before: ComparedRewards,
  after: ComparedRewards,
): { readonly tasks: readonly TaskPairs[]; readonly missingShare: number } {
  const { rolloutsPerTask } = before;
  if (rolloutsPerTask !== after.rolloutsPerTask) return pairMeans(before, after);
  const count = Math.max(before.rewards.length, after.rewards.length);
  const tasks = Array.from({ length: Math.ceil(count / rolloutsPerTask) }, (_, task) => {
    const indexes = Array.from({ length: rolloutsPerTask }, (_each, sample) => task * rolloutsPerTask + sample);
    return pairSamples(indexes, before, after);
  });
  const paired = tasks.reduce((sum, samples) => sum + samples.length, 0);
  return {
    tasks: tasks.flatMap((samples, task) => (samples.length === 0 ? [] : [taskPairs(task, samples)])),
    missingShare: count === 0 ? 1 : (count - paired) / count,
  };
}

function pairMeans(before: ComparedRewards, after: ComparedRewards): ReturnType<typeof pairByTask> {
  const { tasks } = pairByTask(taskMeans(before), taskMeans(after));
  const missing = [before, after].map(
    ({ rewards }) => rewards.filter((reward) => reward === null).length / rewards.length,
  );
  return {
    tasks: tasks.map((pair) => ({ ...pair, firstIndex: pair.task * after.rolloutsPerTask })),
    missingShare: Math.max(...missing),
  };
}

/** The mean of each task as its only sample; null for a task without a reward. */
function taskMeans({ rewards, rolloutsPerTask }: ComparedRewards): ComparedRewards {
  const means = byTask(rewards, rolloutsPerTask).map((values) => (values.length === 0 ? null : meanOf(values)));
  return { rewards: means, rolloutsPerTask: 1 };
}

interface Pair {
  readonly index: number;
  readonly reward: number;
  readonly later: number;
}

function pairSamples(indexes: readonly number[], before: ComparedRewards, after: ComparedRewards): readonly Pair[] {
  return indexes.flatMap((index) => {
    const reward = before.rewards[index] ?? null;
    const later = after.rewards[index] ?? null;
    return reward === null || later === null ? [] : [{ index, reward, later }];
  });
}

function taskPairs(task: number, samples: readonly Pair[]): TaskPairs {
  return {
    task,
    before: meanOf(samples.map(({ reward }) => reward)),
    after: meanOf(samples.map(({ later }) => later)),
    differences: samples.map(({ reward, later }) => later - reward),
    firstIndex: samples[0]?.index ?? 0,
  };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Compares two evaluations task by task, over the samples with a reward in both. There is no verdict when the share of the
 * other samples is above `maxMissingShare`: which ones are missing may depend on how well they went.
 */
export function judgeImprovement(before: ComparedRewards, after: ComparedRewards, maxMissingShare: number): Verdict {
  const { tasks, missingShare } = pairByTask(before, after);
  if (tasks.length === 0) return { verdict: 'undecided', isImproved: null, pValue: null, missingShare, means: null };
  const { difference, pValue } = comparePairs(
    tasks.map((task) => task.before),
    tasks.map((task) => task.after),
  );
  const isDecided = missingShare <= maxMissingShare;
  const verdict = isDecided ? verdictOf(difference, pValue) : 'undecided';
  const means = { before: meanOf(tasks.map((task) => task.before)), after: meanOf(tasks.map((task) => task.after)) };
  return { verdict, isImproved: isDecided ? verdict === 'better' : null, pValue, missingShare, means };
}

/**
 * Compares two evaluations by the settings of their run. Nothing can be known from rewards that compare rollouts with each
 * other: they have the same mean for every agent.
 */
export function judgeBySettings(
  before: ComparedRewards,
  after: ComparedRewards,
  { evaluation, reward }: JudgingSettings,
): Verdict {
  const judged = judgeImprovement(before, after, evaluation.maxMissingShare);
  return reward.relativeParts.length === 0 ? judged : { ...judged, verdict: 'undecided', isImproved: null };
}

/** The settings that a verdict depends on. */
export interface JudgingSettings {
  readonly evaluation: { readonly maxMissingShare: number };
  readonly reward: Pick<RewardDefinition, 'relativeParts'>;
}

/** The parts of a reward that allow no verdict, for a summary. */
export function relativePartsOf({ relativeParts }: JudgingSettings['reward']): {
  readonly relativeParts?: readonly string[];
} {
  return relativeParts.length === 0 ? {} : { relativeParts };
}

/** Why rewards with parts that compare rollouts with each other allow no verdict; null for others. */
export function relativeText({ relativeParts }: JudgingSettings['reward']): string | null {
  if (relativeParts.length === 0) return null;
  const names = relativeParts.map((name) => `\`${name}\``).join(' and ');
  return `the reward depends on ${names}, which compares rollouts of a task with each other: its mean is the same for a better agent. Add a part with an absolute \`score\`, and give it the weight`;
}

function verdictOf(difference: number, pValue: number): VerdictName {
  if (pValue >= 0.05) return 'not-significant';
  return difference > 0 ? 'better' : 'worse';
}

/** With fewer tasks, the paired t-test detects no improvement of rewards that are 0 or 1, one rollout each. */
const minDecisiveTasks = 5;

/** A warning about a number of held-out tasks that is too small for {@link judgeImprovement}; null for a sufficient one. */
export function fewTasksText(count: number): string | null {
  if (count >= minDecisiveTasks) return null;
  const tasks = count === 1 ? '1 held-out task' : `${count} held-out tasks`;
  return `${tasks}: with fewer than ${minDecisiveTasks}, an improvement is rarely significant, and never for one rollout each with reward 0 or 1. Add tasks to \`tasks.test\`.`;
}
