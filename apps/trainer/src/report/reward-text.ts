import { quantityText } from '@agentlightning/core/internal';
import { terminalText } from '@agentlightning/trace';
import type { ProbedKind, RewardProbe } from '../rewards/probe-reward.ts';
import type { RescoreReport } from '../rewards/rescore-run.ts';

/** The result of `agl reward probe`, for the terminal. */
export function probeText(probe: RewardProbe, { run }: { readonly run: string | null }): string {
  const kinds = probe.kinds.toSorted((one, other) => (other.mean ?? -Infinity) - (one.mean ?? -Infinity));
  const width = Math.max(...kinds.map(({ kind }) => kind.length));
  const gameable = probe.kinds.filter(({ isGameable }) => isGameable);
  return [
    `Reward of ${quantityText(probe.tasks, 'task')}${run === null ? '' : `, with the agent's outputs of run ${run}`}, highest first:`,
    '',
    ...kinds.map((kind) => kindLine(kind, width)),
    '',
    gameable.length === 0
      ? 'No degenerate output is rewarded like a good one.'
      : `Gameable: ${gameable.map(({ kind, description }) => `${kind} (${description})`).join('; ')}. A training finds such outputs: add a part that rejects them.`,
    ...Object.entries(probe.missingParts).map(([name, reason]) =>
      terminalText(`Part "${name}" scored nothing: ${reason}`),
    ),
    signalText(probe, run !== null),
    repetitionText(probe),
    `Scoring takes ${probe.millisecondsPerOutput.toFixed(1)} ms for each output${stepText(probe)}.`,
    '',
  ].join('\n');
}

function kindLine(
  { kind, mean, highest, outputs, missing, parts, isGameable, reasons }: ProbedKind,
  width: number,
): string {
  const value = mean === null ? '   none' : mean.toFixed(3).padStart(7);
  const several = Object.entries(parts);
  const details = [
    ...(highest !== null && mean !== null && highest > mean ? [`up to ${highest.toFixed(3)}`] : []),
    ...(several.length > 1 ? [several.map(([name, part]) => `${name} ${part.toFixed(2)}`).join(', ')] : []),
    ...(missing > 0 ? [`${missing} of ${outputs} missing: ${reasons[0] ?? 'no verdict'}`] : []),
  ];
  return terminalText(`${isGameable ? '!' : ' '} ${kind.padEnd(width)} ${value}  ${details.join('; ')}`.trimEnd());
}

function signalText({ groupsWithSignal }: RewardProbe, hasRun: boolean): string {
  if (groupsWithSignal === null) {
    return hasRun
      ? 'No task has two outputs: whether rewards differ within a group is not known.'
      : "After a run of this configuration, or with --run, the agent's own outputs are compared: is there a difference to learn from?";
  }
  const { groups, differing } = groupsWithSignal;
  return `Rewards differ within ${differing} of ${quantityText(groups, 'group')}${differing === 0 ? ': there is nothing to learn from' : ''}.`;
}

function repetitionText({ repeated }: RewardProbe): string {
  if (repeated === null) return 'Repeated scoring has no result: a reward is missing.';
  return repeated.spread === 0
    ? 'The same output has the same reward each time.'
    : `The same output, scored ${repeated.times} times without a cache, has rewards that differ by up to ${repeated.spread.toFixed(3)} (standard deviation ${repeated.deviation.toFixed(3)}).`;
}

function stepText({ step }: RewardProbe): string {
  if (step === null || step.calls === 0) return '';
  const cost = step.cost === 0 ? '; set `price` of the judge for the cost' : ` and cost ${step.cost.toPrecision(3)}`;
  return `; judging a step of ${quantityText(step.rollouts, 'rollout')} takes ${quantityText(Math.round(step.calls), 'call')}${cost}`;
}

/** The result of `agl rescore`, for the terminal. */
export function rescoreText(
  report: RescoreReport,
  { copy, out }: { readonly copy?: string; readonly out?: string },
): string {
  const { rollouts, byLastResponse, missing, mean, rankCorrelation, changedSides, parts } = report;
  const number = (value: number | null): string => (value === null ? 'none' : value.toFixed(3));
  return [
    `${quantityText(rollouts, 'rollout')}: mean reward ${number(mean.recorded)} as recorded, ${number(mean.rescored)} now.`,
    rankCorrelation === null
      ? 'The order of the rollouts cannot be compared: one of the rewards is constant.'
      : `Rank correlation of both rewards: ${rankCorrelation.toFixed(3)} (1: the same order).`,
    `${quantityText(changedSides, 'rollout')} changed from above the mean of the group to below it, or back.`,
    ...(missing.rescored > 0 ? [`${quantityText(missing.rescored, 'rollout')} have no new reward.`] : []),
    ...(byLastResponse > 0
      ? [
          `${quantityText(byLastResponse, 'rollout')} have no recorded output (it is larger than 1 MB, has no JSON form, or is the reward): the text of the last response was scored.`,
        ]
      : []),
    ...(Object.keys(parts).length > 1
      ? [
          `Parts: ${Object.entries(parts)
            .map(([name, value]) => `${name} ${value.toFixed(3)}`)
            .join(', ')}.`,
        ]
      : []),
    ...(out === undefined ? [] : [`Wrote ${out}.`]),
    ...(copy === undefined ? [] : [`The copy is run ${copy}: \`agl dataset --run ${copy}\`.`]),
    '',
  ].join('\n');
}
