import type { JsonValue } from '@agentlightning/core';
import type { RewardInput, RewardMeter } from '@agentlightning/core/algorithm';
import { systemClock } from '@agentlightning/core/internal';
import { mean } from '../events/mean.ts';
import { degenerateKinds, degenerateOutputs } from './degenerate-outputs.ts';
import { type ComputedReward, type OutputScores, scoreSiblings } from './score-outputs.ts';

/** A task with outputs of the agent, from stored rollouts. */
export interface ProbedTask {
  readonly task: JsonValue;
  /** Empty without stored rollouts. */
  readonly outputs: readonly JsonValue[];
}

/** How a kind of output is rewarded. */
export interface ProbedKind {
  /** A degenerate kind; or `of another task`, `the agent's best`, `the agent's worst`. */
  readonly kind: string;
  readonly description: string;
  /** Number of scored outputs, of which `missing` have no reward. */
  readonly outputs: number;
  readonly missing: number;
  /** Null where all are missing. */
  readonly mean: number | null;
  readonly highest: number | null;
  /** Mean of each part over the outputs that have it. */
  readonly parts: Readonly<Record<string, number>>;
  /** Why outputs are missing, and reasons of scores; at most three. */
  readonly reasons: readonly string[];
  /** Whether a degenerate kind has at least 90 % of the agent's best reward, or of the highest possible one. */
  readonly isGameable: boolean;
}

/** What a probe of a reward found. */
export interface RewardProbe {
  readonly tasks: number;
  readonly kinds: readonly ProbedKind[];
  /** Parts that scored no output, with the reason. */
  readonly missingParts: Readonly<Record<string, string>>;
  /** Groups of the agent's outputs whose rewards differ, among those with at least two; null without any. */
  readonly groupsWithSignal: { readonly groups: number; readonly differing: number } | null;
  /** The variance of scoring the same outputs again, without caches of judges; null where a reward is missing. */
  readonly repeated: RepeatedScores | null;
  /** What scoring the rollouts of a training step uses, at the size of the measured group; null without steps. */
  readonly step: StepScoring | null;
  /** Mean duration of scoring an output, in milliseconds. */
  readonly millisecondsPerOutput: number;
}

/** The rewards of a group that is scored several times. */
export interface RepeatedScores {
  readonly times: number;
  /** The largest difference of the rewards of an output; 0: deterministic. */
  readonly spread: number;
  /** The standard deviation of the rewards of an output, in the mean over the outputs. */
  readonly deviation: number;
}

/** What scoring a step uses. */
export interface StepScoring {
  readonly rollouts: number;
  /** Calls of judges. */
  readonly calls: number;
  /** In the currency of the configured prices; 0 without them. */
  readonly cost: number;
}

/** Options of {@link probeReward}. */
export interface ProbeOptions {
  readonly tasks: readonly ProbedTask[];
  /** The highest possible reward, where it is declared. */
  readonly highest: number | null;
  /** Rollouts of a task in a training step. */
  readonly groupSize: number;
  /** Tasks of a training step; null without steps. */
  readonly tasksPerStep: number | null;
  readonly signal: AbortSignal;
}

/** Share of the reference from which a degenerate output is rewarded too high. */
const gameableShare = 0.9;

const repetitions = 3;

/**
 * Measures how a reward can be gamed: it scores degenerate outputs, outputs of other tasks, and the agent's own ones.
 *
 * @throws the reason of the signal
 */
export async function probeReward(
  reward: ComputedReward,
  { tasks, highest, groupSize, tasksPerStep, signal }: ProbeOptions,
): Promise<RewardProbe> {
  const startMs = systemClock.now();
  let scored = 0;
  const score = async (task: JsonValue, outputs: readonly JsonValue[]): Promise<readonly OutputScores[]> => {
    signal.throwIfAborted();
    scored += outputs.length;
    return outputs.length === 0
      ? []
      : await scoreSiblings(
          reward,
          outputs.map((output) => inputOf(task, output, signal)),
        );
  };
  const found = new Map<string, OutputScores[]>();
  const add = (kind: string, ...scores: readonly OutputScores[]): void => {
    found.set(kind, [...(found.get(kind) ?? []), ...scores]);
  };
  const groups: (readonly OutputScores[])[] = [];
  for (const [index, { task, outputs }] of tasks.entries()) {
    const own = await score(task, outputs);
    groups.push(own);
    const ranked = own
      .filter((each) => each.reward !== null)
      .toSorted((one, other) => (other.reward ?? 0) - (one.reward ?? 0));
    if (ranked[0] !== undefined) add(ownBest, ranked[0]);
    const worst = ranked.at(-1);
    if (worst !== undefined) add(ownWorst, worst);
    for (const [kind, output] of degenerateOutputs(task, outputs[0] ?? 'An answer.'))
      add(kind, ...(await score(task, [output])));
    const other = tasks[(index + 1) % tasks.length]?.outputs[0];
    if (tasks.length > 1 && other !== undefined) add(ofAnotherTask, ...(await score(task, [other])));
  }
  const millisecondsPerOutput = scored === 0 ? 0 : (systemClock.now() - startMs) / scored;
  const { repeated, calls, cost } = await scoreRepeatedly(reward, groupOf(tasks, { groupSize, signal }));
  const best = mean((found.get(ownBest) ?? []).flatMap((each) => each.reward ?? [])) ?? highest;
  const several = groups.filter((group) => group.length > 1);
  return {
    tasks: tasks.length,
    kinds: [...found].map(([kind, scores]) => probedKind(kind, scores, best)),
    missingParts: missingParts([...found.values()].flat()),
    groupsWithSignal:
      several.length === 0 ? null : { groups: several.length, differing: several.filter(hasSignal).length },
    repeated,
    step:
      tasksPerStep === null
        ? null
        : { rollouts: groupSize * tasksPerStep, calls: calls * tasksPerStep, cost: cost * tasksPerStep },
    millisecondsPerOutput,
  };
}

function missingParts(scores: readonly OutputScores[]): Readonly<Record<string, string>> {
  const names = [...new Set(scores.flatMap((each) => Object.keys(each.scores)))];
  return Object.fromEntries(
    names.flatMap((name) => {
      const parts = scores.flatMap((each) => each.scores[name] ?? []);
      return parts.some(({ score }) => score !== null) ? [] : [[name, parts[0]?.reason ?? 'no verdict']];
    }),
  );
}

const ownBest = "the agent's best";
const ownWorst = "the agent's worst";
const ofAnotherTask = 'of another task';

const descriptions: Readonly<Record<string, string>> = {
  ...degenerateKinds,
  [ownBest]: 'the highest reward of each task',
  [ownWorst]: 'the lowest reward of each task',
  [ofAnotherTask]: "the agent's output for the next task",
};

function probedKind(kind: string, scores: readonly OutputScores[], best: number | null): ProbedKind {
  const rewards = scores.flatMap(({ reward }) => reward ?? []);
  const average = mean(rewards);
  const names = [...new Set(scores.flatMap((each) => Object.keys(each.scores)))];
  const isOwn = kind === ownBest || kind === ownWorst;
  return {
    kind,
    description: descriptions[kind] ?? kind,
    outputs: scores.length,
    missing: scores.length - rewards.length,
    mean: average,
    highest: rewards.length === 0 ? null : Math.max(...rewards),
    parts: Object.fromEntries(
      names.flatMap((name) => {
        const value = mean(scores.flatMap((each) => each.scores[name]?.score ?? []));
        return value === null ? [] : [[name, value]];
      }),
    ),
    reasons: [
      ...new Set(scores.flatMap((each) => Object.values(each.scores).flatMap(({ reason }) => reason ?? []))),
    ].slice(0, 3),
    isGameable: !isOwn && average !== null && best !== null && best > 0 && average >= gameableShare * best,
  };
}

function hasSignal(group: readonly OutputScores[]): boolean {
  const rewards = group.flatMap(({ reward }) => reward ?? []);
  return rewards.length > 1 && Math.max(...rewards) > Math.min(...rewards);
}

/** A group of a training step for the first task: its outputs, repeated up to the size, or degenerate ones without any. */
function groupOf(
  tasks: readonly ProbedTask[],
  { groupSize, signal }: Pick<ProbeOptions, 'groupSize' | 'signal'>,
): readonly RewardInput[] {
  const [first] = tasks;
  if (first === undefined) return [];
  const { task, outputs } = first;
  const given = outputs.length > 0 ? outputs : degenerateOutputs(task, 'An answer.').map(([, output]) => output);
  return Array.from({ length: groupSize }, (_, index) => ({
    ...inputOf(task, given[index % given.length] ?? null, signal),
    isFresh: true,
  }));
}

/** Scores a group several times without caches: the variance, and what one time uses. */
async function scoreRepeatedly(
  reward: ComputedReward,
  group: readonly RewardInput[],
): Promise<{ readonly repeated: RepeatedScores | null; readonly calls: number; readonly cost: number }> {
  const meters = metersOf(reward);
  const used = (): readonly [calls: number, cost: number] => [
    meters.reduce((sum, { usage }) => sum + usage.calls, 0),
    meters.reduce((sum, { usage }) => sum + usage.cost, 0),
  ];
  const [callsBefore, costBefore] = used();
  const rounds: (readonly (number | null)[])[] = [];
  for (let round = 0; round < repetitions; round += 1) {
    rounds.push((await scoreSiblings(reward, group)).map((scores) => scores.reward));
  }
  const [callsAfter, costAfter] = used();
  const byOutput = group.map((_, index) => rounds.map((round) => round[index] ?? null));
  const known = byOutput.map((rewards) => rewards.filter((value) => value !== null));
  const isComplete = group.length > 0 && known.every((rewards) => rewards.length === repetitions);
  return {
    repeated: isComplete
      ? {
          times: repetitions,
          spread: Math.max(...known.map((rewards) => Math.max(...rewards) - Math.min(...rewards))),
          deviation: mean(known.map(deviation)) ?? 0,
        }
      : null,
    calls: (callsAfter - callsBefore) / repetitions,
    cost: (costAfter - costBefore) / repetitions,
  };
}

/** The judges of the parts, each once. */
function metersOf({ scoring }: ComputedReward): readonly RewardMeter[] {
  if (typeof scoring === 'function') return [];
  return [...new Set(Object.values(scoring.parts).flatMap(({ meter }) => meter ?? []))];
}

function deviation(values: readonly number[]): number {
  const average = mean(values) ?? 0;
  return Math.sqrt(mean(values.map((value) => (value - average) ** 2)) ?? 0);
}

function inputOf(task: JsonValue, output: JsonValue, signal: AbortSignal): RewardInput {
  return { task, output, rolloutId: 'probe', mode: null, spans: () => Promise.resolve([]), signal };
}
