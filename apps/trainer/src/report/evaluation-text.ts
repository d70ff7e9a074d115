import type { ConstantResponse } from '@agentlightning/core/protocol';
import { terminalText } from '@agentlightning/trace';
import type {
  EvaluatedSubject,
  EvaluationComparison,
  EvaluationReport,
  TaskDifference,
} from '../evaluation-run/evaluation-report.ts';
import { type CommandContext, completeCommands, storeFlag } from './complete-commands.ts';
import { countOf } from './evaluation-progress.ts';
import { percent, pValueText, shortDuration, textTable } from './text-formats.ts';

/** Maximum length of a shown task, in characters. */
const maxTaskLength = 80;

/** The result of an evaluation as a table, with the comparison and the rule for missing rewards. */
export function evaluationText(report: EvaluationReport, context: CommandContext): string {
  const { of, against, comparison } = report;
  const subjects = against === null ? [of] : [of, against];
  const lines = [
    ...textTable(['SUBJECT', 'REWARD', '95% INTERVAL', 'ROLLOUTS', 'FAILED', 'MISSING'], subjects.flatMap(rowsOf)),
    '',
    ...subjects.flatMap(failureLines),
    ...subjects.flatMap(constantLines),
    ...missingLines(report, subjects),
    ...(comparison === null || against === null ? [] : comparisonLines(comparison, { of, against }, context)),
    `${shortDuration(report.seconds)}. Rollouts: ${context.command} rollouts --run ${report.runId}${storeFlag(context.storeUrl)}`,
  ];
  return `${lines.join('\n')}\n`;
}

function rowsOf({ subject, reward, ci95, rollouts, failed, missing, parts }: EvaluatedSubject): string[][] {
  const partRows = Object.entries(parts).map(([name, part]) => [
    `  ${name}`,
    part.reward.toFixed(3),
    intervalText(part.ci95),
    String(part.rollouts),
    '',
    '',
  ]);
  const total = [subject, reward.toFixed(3), intervalText(ci95), String(rollouts), String(failed), String(missing)];
  return [total, ...partRows];
}

function intervalText([low, high]: readonly [number, number]): string {
  return `${low.toFixed(3)} to ${high.toFixed(3)}`;
}

function failureLines({ subject, failures }: EvaluatedSubject): string[] {
  const causes = Object.entries(failures).map(([cause, count]) => `${cause} ${count}`);
  return causes.length === 0 ? [] : [`Failures of ${subject}: ${causes.join(', ')}`];
}

/** A response that is the best one to all tasks explains a reward without any skill. */
function constantLines({ subject, constantResponse }: EvaluatedSubject): string[] {
  if (constantResponse === null) return [];
  return [`Best constant response of ${subject}: ${constantResponseText(constantResponse)}`];
}

function missingLines(
  { isDecided, maxMissingShare }: EvaluationReport,
  subjects: readonly EvaluatedSubject[],
): string[] {
  const missing = subjects.reduce((sum, subject) => sum + subject.missing, 0);
  if (missing === 0) return [];
  const limit = isDecided
    ? ''
    : ` More than ${percent(maxMissingShare)} are missing (--max-missing): the result is not reliable.`;
  return [`${countOf(missing, 'rollout')} without a reward: excluded from the mean.${limit}`];
}

function comparisonLines(
  comparison: EvaluationComparison,
  { of, against }: { readonly of: EvaluatedSubject; readonly against: EvaluatedSubject },
  context: CommandContext,
): string[] {
  const { difference, ci95, pValue, verdict, relativeParts = [], tasks, gains, losses } = comparison;
  const title = `${of.subject} minus ${against.subject}`;
  if (difference === null || ci95 === null) return [`${title}: no task has a reward in both`];
  const interval = `95% ${signed(ci95[0])} to ${signed(ci95[1])}`;
  return [
    `${title}: ${signed(difference)} (${interval}, paired bootstrap over ${countOf(tasks, 'task')}; ` +
      `${pValueText(pValue)}): ${relativeParts.length > 0 ? relativeVerdict : verdictTexts[verdict]}`,
    ...differenceLines('Largest gains', gains, context),
    ...differenceLines('Largest losses', losses, context),
  ];
}

const relativeVerdict = 'not decided, the reward compares rollouts with each other';

const verdictTexts: Readonly<Record<EvaluationComparison['verdict'], string>> = {
  better: 'better',
  worse: 'worse',
  'not-significant': 'no difference shown',
  undecided: 'not decided, too many rewards are missing',
};

function differenceLines(title: string, differences: readonly TaskDifference[], context: CommandContext): string[] {
  if (differences.length === 0) return [];
  const lines = differences.map(({ index, task, difference, of, against, rolloutOf }) => {
    const text = JSON.stringify(task);
    const shown = text.length > maxTaskLength ? `${text.slice(0, maxTaskLength)}…` : text;
    const rewards = `${against.toFixed(3)} -> ${of.toFixed(3)}`;
    return `  ${signed(difference)} (${rewards})  task ${index}  ${terminalText(shown)}  ${completeCommands(`agl show ${rolloutOf}`, context)}`;
  });
  return [`${title}:`, ...lines];
}

function signed(value: number): string {
  return `${value < 0 ? '' : '+'}${value.toFixed(3)}`;
}

/** A constant response with its mean reward. */
export function constantResponseText({ text, reward, seenShare }: ConstantResponse): string {
  const [least, seen] = seenShare === 1 ? ['', ''] : ['at least ', `, seen on ${percent(seenShare)} of the tasks`];
  return `${terminalText(JSON.stringify(text))}, ${least}${reward.toFixed(2)}${seen}`;
}
