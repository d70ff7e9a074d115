import { bootstrapMean, comparePairs, type MeanComparison, type MeanInterval } from '@agentlightning/algorithms';
import type { HeldOut } from './read-results.ts';

/** A number between 0 and 1 for the reward of a response. */
export type Measure = (reward: number) => number;

/** What the report measures on held-out responses. */
export const measures = {
  reward: (reward) => reward,
  correct: (reward) => (reward === 1 ? 1 : 0),
  /** Any call of a function. */
  call: (reward) => (reward > 0 ? 1 : 0),
} as const satisfies Readonly<Record<string, Measure>>;

/** What is wrong with a response, by its reward: see the README of the example. */
export const outcomes = {
  'no call': (reward) => reward === 0,
  'another function, or invalid arguments': (reward) => reward > 0 && reward < 0.2,
  'the function with a wrong argument': (reward) => reward >= 0.2 && reward < 1,
  correct: (reward) => reward === 1,
} as const satisfies Readonly<Record<string, (reward: number) => boolean>>;

/** The evaluations of several runs as one: the rewards of each task together. */
export function pooled(evaluations: readonly HeldOut[]): HeldOut {
  const rewards = new Map<string, readonly number[]>();
  for (const evaluation of evaluations) {
    for (const [task, values] of evaluation) rewards.set(task, [...(rewards.get(task) ?? []), ...values]);
  }
  return rewards;
}

/** The mean of a measure with its 95 % interval, by the bootstrap of tasks. */
export function meanOf(evaluation: HeldOut, measure: Measure): MeanInterval {
  return bootstrapMean([...evaluation.values()].map((rewards) => rewards.map(measure)));
}

/** The change of a measure between two evaluations: paired t-test of the means of each task. */
export function compare(before: HeldOut, after: HeldOut, measure: Measure): MeanComparison {
  const tasks = [...before.keys()].filter((task) => after.has(task));
  const means = (evaluation: HeldOut): readonly number[] =>
    tasks.map((task) => taskMean(evaluation.get(task), measure));
  return comparePairs(means(before), means(after));
}

/** The share of responses whose reward matches, in percent. */
export function shareOf(evaluation: HeldOut, matches: (reward: number) => boolean): string {
  const rewards = [...evaluation.values()].flat();
  return `${((100 * rewards.filter(matches).length) / rewards.length).toFixed(0)} %`;
}

function taskMean(rewards: readonly number[] = [], measure: Measure): number {
  return rewards.reduce((sum, reward) => sum + measure(reward), 0) / rewards.length;
}
