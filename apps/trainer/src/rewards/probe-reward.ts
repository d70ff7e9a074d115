import type { JsonValue } from '@agentlightning/core';
import type { RewardInput } from '@agentlightning/core/algorithm';
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
  /** Largest difference of three repeated rewards of the same output; null where one is missing. 0: deterministic. */
  readonly repeatedSpread: number | null;
  /** Mean duration of scoring an output, in milliseconds. */
  readonly millisecondsPerOutput: number;
}

/** Options of {@link probeReward}. */
export interface ProbeOptions {
  readonly tasks: readonly ProbedTask[];
  /** The highest possible reward, where it is declared. */
  readonly highest: number | null;
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
  { tasks, highest, signal }: ProbeOptions,
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
  const repeatedSpread = await spreadOfRepetition(tasks, score);
  const best = mean((found.get(ownBest) ?? []).flatMap((each) => each.reward ?? [])) ?? highest;
  const several = groups.filter((group) => group.length > 1);
  return {
    tasks: tasks.length,
    kinds: [...found].map(([kind, scores]) => probedKind(kind, scores, best)),
    missingParts: missingParts([...found.values()].flat()),
    groupsWithSignal:
      several.length === 0 ? null : { groups: several.length, differing: several.filter(hasSignal).length },
    repeatedSpread,
    millisecondsPerOutput: scored === 0 ? 0 : (systemClock.now() - startMs) / scored,
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

async function spreadOfRepetition(
  tasks: readonly ProbedTask[],
  score: (task: JsonValue, outputs: readonly JsonValue[]) => Promise<readonly OutputScores[]>,
): Promise<number | null> {
  const [first] = tasks;
  if (first === undefined) return null;
  const output = first.outputs[0] ?? 'An answer.';
  const rewards: number[] = [];
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    const [scores] = await score(first.task, [output]);
    if (scores === undefined || scores.reward === null) return null;
    rewards.push(scores.reward);
  }
  return Math.max(...rewards) - Math.min(...rewards);
}

function inputOf(task: JsonValue, output: JsonValue, signal: AbortSignal): RewardInput {
  return { task, output, rolloutId: 'probe', mode: null, spans: () => Promise.resolve([]), signal };
}
