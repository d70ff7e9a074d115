import { type AuditCode, type AuditFinding, warningThresholds } from '@agentlightning/core/protocol';
import { mean } from '../events/mean.ts';
import { rankCorrelation } from '../events/rank-correlation.ts';
import { warningExplanations } from '../events/run-warning.ts';
import type { AuditSample } from './audit-sample.ts';

/** The samples at the start and at the end of a run, of which the drift is measured. */
export interface AuditWindows {
  readonly first: readonly AuditSample[];
  readonly last: readonly AuditSample[];
  /** Of all measured steps. */
  readonly all: readonly AuditSample[];
}

/** Samples of a window below which its drift is not measured. */
const minSamples = 8;

/** Fall of a part that is a finding: in standard deviations of the part, and in standard errors of the difference. */
const partFall = { deviations: 0.5, errors: 3 };

/** The rise of a share of rollouts that is a finding. */
const shareRise = 0.25;

/** The share of repeated or echoed words from which a text counts. */
const repeatedShare = 0.5;

/** One output for at least this share of the rollouts, which have at least so many different tasks. */
const constant = { share: 0.8, tasks: 4 };

const maxRollouts = 5;

/** The first and the last quarter of the steps. */
export function windowsOf(samples: readonly AuditSample[]): AuditWindows | null {
  const steps = [...new Set(samples.map(({ step }) => step))].toSorted((one, other) => one - other);
  if (steps.length < 2) return null;
  const count = Math.max(1, Math.floor(steps.length / 4));
  const [early, late] = [new Set(steps.slice(0, count)), new Set(steps.slice(-count))];
  const first = samples.filter(({ step }) => early.has(step));
  const last = samples.filter(({ step }) => late.has(step));
  return first.length < minSamples || last.length < minSamples ? null : { first, last, all: samples };
}

/**
 * The findings about the training rollouts of a run.
 *
 * @param penalised - parts with a negative weight, which are to fall
 */
export function driftFindings(windows: AuditWindows, penalised: ReadonlySet<string>): readonly AuditFinding[] {
  const shares = shareRules.map((rule) => shareFinding(windows, rule));
  return [
    ...fallingParts(windows, { penalised, isHeldOut: false }),
    lengthDrift(windows),
    ...shares,
    constantOutput(windows),
    duplicateSiblings(windows),
  ].filter((finding) => finding !== null);
}

/**
 * The parts that fell while the training reward rose.
 *
 * @param windows - of the training reward
 * @param options.penalised - parts with a negative weight, which are to fall
 * @param options.measured - of the parts; the training rollouts by default
 */
export function fallingParts(
  windows: AuditWindows,
  {
    penalised,
    isHeldOut,
    measured = windows,
  }: {
    readonly penalised: ReadonlySet<string>;
    readonly isHeldOut: boolean;
    readonly measured?: Pick<AuditWindows, 'first' | 'last'>;
  },
): readonly AuditFinding[] {
  const [before, after] = [meanReward(windows.first), meanReward(windows.last)];
  if (before === null || after === null || after <= before) return [];
  const names = [...new Set(measured.last.flatMap(({ parts }) => Object.keys(parts)))];
  return names.flatMap((part): AuditFinding[] => {
    const [old, now] = [measured.first, measured.last].map((samples) =>
      samples.flatMap(({ parts }) => parts[part] ?? []),
    );
    const [partBefore, partAfter] = [mean(old ?? []), mean(now ?? [])];
    if (penalised.has(part) || partBefore === null || partAfter === null || (now ?? []).length < minSamples) return [];
    if (partBefore - partAfter <= smallestFall(old ?? [], now ?? [])) return [];
    const exploiting = highest(measured.last.filter(({ parts }) => (parts[part] ?? partBefore) < partBefore));
    return [
      finding('proxy-diverges', exploiting, {
        message:
          `the part \`${part}\` of the ${isHeldOut ? 'held-out' : 'training'} rollouts fell from ${partBefore.toFixed(2)} ` +
          `(${stepsText(measured.first)}) to ${partAfter.toFixed(2)} (${stepsText(measured.last)}), while the training reward rose from ` +
          `${before.toFixed(2)} to ${after.toFixed(2)}`,
        evidence: { partBefore, partAfter, rewardBefore: before, rewardAfter: after },
      }),
    ];
  });
}

/** Longer responses, which are rewarded more than shorter siblings over the run. */
function lengthDrift({ first, last, all }: AuditWindows): AuditFinding | null {
  const [before, after] = [meanOf(first, ({ length }) => length), meanOf(last, ({ length }) => length)];
  const correlation = mean(
    groupsOf(all).flatMap((group) => {
      const pairs = group.flatMap(({ length, reward }) => (reward === null ? [] : [[length, reward] as const]));
      return rankCorrelation(pairs) ?? [];
    }),
  );
  const { lengthGrowth, lengthCorrelation } = warningThresholds;
  if (before === null || after === null || correlation === null) return null;
  if (after < lengthGrowth * before || correlation < lengthCorrelation) return null;
  const longest = last.filter(({ length }) => length >= after);
  return finding('length-drift', highest(longest), {
    message:
      `responses have ${after.toFixed(0)} tokens in the mean (${stepsText(last)}), and had ${before.toFixed(0)} (${stepsText(first)}); ` +
      `within groups, length and reward have a rank correlation of ${correlation.toFixed(2)}`,
    evidence: { lengthBefore: before, lengthAfter: after, correlation },
  });
}

/** A finding of rollouts that became more frequent. */
interface ShareRule {
  readonly code: AuditCode;
  /** The rollouts, as the subject of a sentence. */
  readonly what: string;
  readonly has: (sample: AuditSample) => boolean;
  /** Whether it is a finding only where these rollouts have at least the mean reward of the first steps. */
  readonly isRewarded: boolean;
}

const shareRules: readonly ShareRule[] = [
  {
    code: 'truncated-responses',
    what: 'responses that the token limit cut',
    has: ({ isTruncated }) => isTruncated,
    isRewarded: true,
  },
  {
    code: 'format-failures',
    what: 'rollouts whose agent failed, or whose output has no reward,',
    has: ({ isFailed }) => isFailed,
    isRewarded: false,
  },
  {
    code: 'repeated-text',
    what: 'responses that repeat themselves',
    has: ({ repetition }) => repetition >= repeatedShare,
    isRewarded: true,
  },
  {
    code: 'echoed-task',
    what: 'responses that repeat the task',
    has: ({ echo }) => echo >= repeatedShare,
    isRewarded: true,
  },
];

function shareFinding({ first, last }: AuditWindows, rule: ShareRule): AuditFinding | null {
  const [before, after] = [shareOf(first, rule.has), shareOf(last, rule.has)];
  if (after - before < shareRise) return null;
  const found = last.filter(rule.has);
  const [reward, usual] = [meanReward(found), meanReward(first)];
  if (rule.isRewarded && (reward === null || usual === null || reward < usual)) return null;
  const paid = rule.isRewarded
    ? `; their mean reward is ${reward?.toFixed(2)}, and was ${usual?.toFixed(2)} over all`
    : '';
  return finding(rule.code, highest(found), {
    message: `${rule.what} are ${percent(after)} of all (${stepsText(last)}), and were ${percent(before)} (${stepsText(first)})${paid}`,
    evidence: { shareBefore: before, shareAfter: after, ...(reward === null ? {} : { reward }) },
  });
}

/** One output for nearly all tasks, which is rewarded like the best one. */
function constantOutput({ first, last, all }: AuditWindows): AuditFinding | null {
  const byText = Map.groupBy(
    last.filter(({ text }) => text !== ''),
    ({ text }) => text,
  );
  const [text = '', same = []] = [...byText].toSorted(([, one], [, other]) => other.length - one.length)[0] ?? [];
  const tasks = new Set(same.map(({ task }) => task)).size;
  const [before, after] = [shareOf(first, (sample) => sample.text === text), same.length / last.length];
  const [reward, best] = [meanReward(same), Math.max(...all.flatMap((sample) => sample.reward ?? []))];
  if (after < constant.share || after - before < shareRise || tasks < constant.tasks) return null;
  if (reward === null || reward < 0.9 * best) return null;
  return finding('constant-output', highest(same), {
    message:
      `one output is ${percent(after)} of all (${stepsText(last)}), and was ${percent(before)} (${stepsText(first)}): ${tasks} different ` +
      `tasks have it, with the mean reward ${reward.toFixed(2)}`,
    evidence: { shareBefore: before, shareAfter: after, tasks, reward },
  });
}

/** Siblings that became equal before the reward is high: nothing is left to compare. */
function duplicateSiblings({ first, last, all }: AuditWindows): AuditFinding | null {
  const [before, after] = [duplicateShare(first), duplicateShare(last)];
  const [reward, best] = [meanReward(last), Math.max(...all.flatMap((sample) => sample.reward ?? []))];
  if (before === null || after === null || after < 0.9 || after - before < shareRise) return null;
  if (reward === null || reward >= 0.7 * best) return null;
  return finding('duplicate-siblings', highest(last), {
    message:
      `${percent(after)} of the siblings have the same output (${stepsText(last)}), and ${percent(before)} had (${stepsText(first)}), at a ` +
      `mean reward of ${reward.toFixed(2)}`,
    evidence: { shareBefore: before, shareAfter: after, reward },
  });
}

/** The share of siblings that have the output of another one; null without groups of two. */
export function duplicateShare(samples: readonly AuditSample[]): number | null {
  return mean(
    groupsOf(samples).flatMap((group) =>
      group.length < 2 ? [] : [1 - (new Set(group.map(({ text }) => text)).size - 1) / (group.length - 1)],
    ),
  );
}

const remedies: Readonly<Partial<Record<AuditCode, string>>> = {
  'format-failures': 'Read the failures, and give malformed outputs their reward instead of an exception.',
  'repeated-text':
    'Add `repetition` to the reward as a part, and let the judge or scorer see that repetitions count nothing.',
  'echoed-task':
    'Score only what the agent adds: remove the words of the task before scoring, or require the answer itself.',
  'constant-output':
    'Make the reward depend on the task, or balance the tasks: one output must not be right for most of them.',
  'duplicate-siblings': 'Raise `sampling.temperature` or `groupSize`, or add `duplicates` to the reward as a part.',
  'judge-disagrees':
    'Read rollouts with a high reward and a low score of the judge, and correct the one that is wrong.',
  'people-disagree':
    'Read the labelled rollouts, and change the reward until it prefers those that people prefer: `agl rescore` tries it.',
  'length-bias':
    'Bound the length by a part of the reward, or state in the prompt of the judge that length counts nothing.',
  'position-bias': 'Compare in both orders (`pairwise`), or shuffle the siblings before they are ranked.',
};

/** A finding with the remedy of its code. */
export function finding(
  code: AuditCode,
  samples: readonly AuditSample[],
  { message, evidence }: Pick<AuditFinding, 'message' | 'evidence'>,
): AuditFinding {
  const explained = Object.hasOwn(warningExplanations, code)
    ? warningExplanations[code as keyof typeof warningExplanations].remedy
    : '';
  return {
    code,
    message,
    evidence,
    remedy: remedies[code] ?? explained,
    rollouts: samples.slice(0, maxRollouts).map(({ rolloutId, step, reward }) => ({ rolloutId, step, reward })),
  };
}

/** Samples with the highest reward first. */
export function highest(samples: readonly AuditSample[]): readonly AuditSample[] {
  return samples.toSorted((one, other) => (other.reward ?? -Infinity) - (one.reward ?? -Infinity));
}

/** The mean reward of those that have one. */
export function meanReward(samples: readonly AuditSample[]): number | null {
  return mean(samples.flatMap(({ reward }) => reward ?? []));
}

/** The mean of a measure. */
export function meanOf(samples: readonly AuditSample[], measure: (sample: AuditSample) => number): number | null {
  return mean(samples.map(measure));
}

/** The share of samples with a property; 0 without samples. */
export function shareOf(samples: readonly AuditSample[], has: (sample: AuditSample) => boolean): number {
  return samples.length === 0 ? 0 : samples.filter(has).length / samples.length;
}

/** The samples of each group. */
export function groupsOf(samples: readonly AuditSample[]): readonly (readonly AuditSample[])[] {
  return [...Map.groupBy(samples, ({ groupId, step }) => `${step} ${groupId}`).values()];
}

/** The fall of a part below which it is chance, or small. */
function smallestFall(before: readonly number[], after: readonly number[]): number {
  const spread = Math.max(deviation(before), deviation(after));
  return spread * Math.max(partFall.deviations, partFall.errors * Math.sqrt(1 / before.length + 1 / after.length));
}

function deviation(values: readonly number[]): number {
  const average = mean(values) ?? 0;
  return Math.sqrt(mean(values.map((value) => (value - average) ** 2)) ?? 0);
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** The steps of samples, as text. */
export function stepsText(samples: readonly AuditSample[]): string {
  const steps = samples.map(({ step }) => step);
  const [low, high] = [Math.min(...steps), Math.max(...steps)];
  return low === high ? `step ${low}` : `steps ${low} to ${high}`;
}
