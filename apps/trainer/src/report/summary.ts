import { styleText } from 'node:util';
import type { CollectedRollout, JudgedPrompts } from '@agentlightning/core/algorithm';
import { addressText, quantityText } from '@agentlightning/core/internal';
import type { EvaluationSummary, PromptsOutcome, TrainingSummary } from '@agentlightning/core/protocol';
import { conversationLines } from '../trace/conversation.ts';
import { storeFlag } from './complete-commands.ts';
import { constantResponseText } from './evaluation-text.ts';
import { exceptionsText } from './plain-report.ts';
import { chosenExampleLines, diffLines, versionTable } from './prompts-report.ts';
import { rewardCurve } from './reward-curve.ts';
import { costText } from './rollout-text.ts';
import { bar, percent, pValueText, relativePath, shortDuration } from './text-formats.ts';

/** The rollouts to show as examples. */
export interface SummaryExamples {
  readonly before: CollectedRollout | null;
  readonly after: CollectedRollout | null;
}

/** The suggested next commands. */
export interface NextCommands {
  /** The program name. */
  readonly command: string;
  /** The complete command that resumes the run; null when the run is complete. */
  readonly resume: string | null;
}

/** The summary of a run as text: reward before and after, reward curve or prompts, two rollouts, and next commands. */
export function summaryText(summary: TrainingSummary, examples: SummaryExamples, next: NextCommands): string {
  const { before, after, prompts } = summary;
  const isMeasured = after.rollouts + after.missing > 0;
  const what = prompts?.measuredOn === 'validation' ? 'validation reward' : 'held-out reward';
  const verdict = verdictText(summary, what);
  return [
    '',
    ...(isMeasured
      ? [
          `${verdict} ${what.replace(/^./, (first) => first.toUpperCase())} ${before.reward.toFixed(2)} → ${after.reward.toFixed(2)} in ${shortDuration(summary.seconds)} (${pValueText(summary.pValue)}).`,
          ...caveatLines(summary),
          '',
          evaluationLine('before', before),
          evaluationLine('after', after),
        ]
      : [`Trained in ${shortDuration(summary.seconds)}, without an evaluation: the configuration has no test tasks.`]),
    ...constantLines(summary),
    '',
    ...(prompts === undefined ? curveLines(summary) : promptsLines(prompts)),
    ...endLines(summary),
    ...stageLines(summary),
    ...finalLines(summary),
    ...unsolvedLines(summary),
    '',
    ...exampleLines(prompts === undefined ? 'One held-out rollout before' : 'One rollout before', examples.before),
    ...exampleLines('The same task after', examples.after),
    ...placeLines(summary),
    '',
    'Try next',
    ...nextCommands(summary, next),
    '',
  ].join('\n');
}

function verdictText({ verdict, missingShare, relativeParts = [] }: TrainingSummary, what: string): string {
  switch (verdict) {
    case 'better':
      return styleText('green', 'The agent got better.');
    case 'worse':
      return styleText('red', 'The agent got worse.');
    case 'not-significant':
      return styleText('yellow', 'No difference shown.');
    case 'undecided':
      if (relativeParts.length > 0) return styleText('yellow', `No verdict: the ${what} cannot show one.`);
      return styleText('yellow', `No verdict: the ${what} of ${percent(missingShare)} of the tasks is missing.`);
  }
}

/** What the verdict does not show, each as a sentence. */
function caveatLines({ caveats }: TrainingSummary): readonly string[] {
  return caveats.map((caveat) => styleText('red', `But ${caveat}.`));
}

/** The best constant response, with which the reward after training is to be compared. */
function constantLines({ training }: TrainingSummary): readonly string[] {
  const response = training?.constantResponse ?? null;
  return response === null ? [] : [`  Best constant response: ${constantResponseText(response)}`];
}

function curveLines({ rewardCurve: curve, training }: TrainingSummary): readonly string[] {
  const losses = training?.lossCurve ?? [];
  if (losses.length > 0) return ['Training loss, step by step', ...rewardCurve(losses, { width: 60, height: 5 })];
  return ['Training reward, step by step', ...rewardCurve(curve, { width: 60, height: 5 })];
}

/** Why a training ended before its last step. */
function endLines({ training, rewardCurve: { length } }: TrainingSummary): readonly string[] {
  switch (training?.ended) {
    case 'warning':
      return ['', `A warning of \`stop.warnings\` ended the run at step ${length}.`];
    case 'patience':
      return ['', `The reward of the evaluations had stopped rising, which ended the run at step ${length}.`];
    default:
      return [];
  }
}

/** The stages of the run, with the checkpoints that they began with. */
function stageLines({ training }: TrainingSummary): readonly string[] {
  const stages = training?.stages ?? [];
  if (stages.length === 0) return [];
  const lines = stages.map(({ algorithm, firstStep, lastStep, startStep, ended }, index) => {
    const start = startStep === null ? '' : `, from the checkpoint of step ${startStep}`;
    const end = ended === null || ended === 'steps' ? '' : `, ended by its ${ended}`;
    return `  ${index + 1}  ${algorithm}, steps ${firstStep} to ${lastStep}${start}${end}`;
  });
  return ['', 'Stages', ...lines];
}

/** The selected final checkpoint of the run, if one was selected. */
function finalLines({ training }: TrainingSummary): readonly string[] {
  if (training === undefined || training.final.selectedOn === null) return [];
  const { step, selectedOn, candidates } = training.final;
  const measure = selectedOn === 'validation' ? 'validation reward' : 'held-out reward';
  return [
    '',
    `The run ended with the checkpoint of step ${step}, the best of ${candidates} by ${measure}.`,
    ...(selectedOn === 'validation'
      ? []
      : [
          'It was selected on these tasks, so the reward after training is biased upwards. Set `tasks.validation` for an unbiased one.',
        ]),
  ];
}

/** The training tasks that no rollout has solved, with a rollout of each. */
function unsolvedLines({ training }: TrainingSummary): readonly string[] {
  const tasks = training?.unsolvedTasks ?? [];
  if (tasks.length === 0) return [];
  const listed = tasks.slice(0, 8).map(({ task, examples }) => `${task} (${examples.at(-1) ?? ''})`);
  return [
    '',
    `${quantityText(tasks.length, 'training task')} never solved: too hard, broken, or with a wrong answer. By index, with a rollout:`,
    `  ${listed.join(', ')}${tasks.length > listed.length ? ', …' : ''}`,
  ];
}

function promptsLines({ versions, best, measuredOn, ...outcome }: PromptsOutcome): readonly string[] {
  const first = versions[0];
  const found = versions.find(({ version }) => version === best);
  const end = searchEnds[outcome.ended];
  const unusable = outcome.unusableReplies === 0 ? '' : ` (${outcome.unusableReplies} replies without a valid prompt)`;
  return [
    ...(measuredOn === 'validation'
      ? [
          'The best prompts were selected on these tasks, so this score is biased upwards. Set `tasks.test` for an unbiased one.',
          '',
        ]
      : []),
    `${quantityText(versions.length, 'version')}, ${quantityText(outcome.rollouts, 'rollout')}, ${quantityText(outcome.optimizerCalls, 'optimiser request')}${unusable}; the search ${end}.`,
    ...useLines(outcome),
    '',
    ...versionTable(shownVersions(versions, best), best).map((line) => `  ${line}`),
    ...(first === undefined || found === undefined || found === first
      ? ['', 'The search found no version better than the initial one.']
      : ['', ...diffLines(first, found, outcome.kinds ?? {}), ...chosenExampleLines(found)]),
  ];
}

const searchEnds = {
  finished: 'is complete',
  budget: 'ended because another version would exceed the budget',
  'no-new-version': 'ended because the last 12 replies of the optimiser model and draws of examples had no new version',
} as const;

/** What the optimiser model read and wrote. */
function useLines({ optimizerUse: use }: Pick<PromptsOutcome, 'optimizerUse'>): readonly string[] {
  if (use === null) return [];
  const price = use.cost.amount === null ? '' : `, ${costText({ ...use.cost, missing: [] })}`;
  return [`The optimiser model read ${quantityText(use.inputTokens, 'token')} and wrote ${use.outputTokens}${price}.`];
}

/** All versions, or the ancestors of the best one if all would fill the screen. */
function shownVersions(versions: readonly JudgedPrompts[], best: string): readonly JudgedPrompts[] {
  if (versions.length <= 12) return versions;
  const shown = new Set([best]);
  for (const { version, parents } of versions.toReversed()) {
    if (shown.has(version)) for (const parent of parents) shown.add(parent);
  }
  return versions.filter(({ version }) => shown.has(version));
}

function placeLines(summary: TrainingSummary): readonly string[] {
  const { storeUrl, runId, dataDir, prompts } = summary;
  const place = `The run is stored in ${relativePath(addressText(storeUrl))} (run ${runId})`;
  if (prompts === undefined) return [`${place}; checkpoints are in ${relativePath(dataDir)}.`];
  return [`${place}; the prompts are in ${relativePath(prompts.file)}.`];
}

function nextCommands(summary: TrainingSummary, { command, resume }: NextCommands): string[] {
  const store = storeFlag(summary.storeUrl);
  const rows: (readonly [line: string, meaning: string])[] = [
    [`${command} runs${store}`, 'the runs of this store'],
    [`${command} dashboard${store}`, 'the same in the browser'],
    ...(summary.prompts === undefined
      ? []
      : [[`${command} prompts ${summary.runId}${store}`, 'the versions and what changed'] as const]),
    ...(summary.exampleAfter === null
      ? []
      : [[`${command} show ${summary.exampleAfter}${store}`, 'the trace of that rollout'] as const]),
    [`${command} --help`, 'everything else'],
  ];
  const width = Math.max(...rows.map(([line]) => line.length));
  const shown = rows.map(([line, meaning]) => `  ${line.padEnd(width)}  ${meaning}`);
  // Not part of the table: its length would widen the first column.
  return resume === null ? shown : [...shown, `  ${resume}  more steps of this run`];
}

function evaluationLine(name: string, evaluation: EvaluationSummary): string {
  const [low, high] = evaluation.ci95;
  const interval = `95% ${low.toFixed(2)} to ${high.toFixed(2)}, ${quantityText(evaluation.rollouts, 'rollout')}${exceptionsText(evaluation)}`;
  return `  ${name.padEnd(7)} ${bar(evaluation.reward, 30)} ${evaluation.reward.toFixed(2)}  (${interval})`;
}

function exampleLines(title: string, collected: CollectedRollout | null): string[] {
  if (collected === null) return [];
  return [
    `${title} (${collected.rollout.rolloutId})`,
    ...conversationLines(collected.spans).map((line) => `  ${line}`),
    '',
  ];
}
