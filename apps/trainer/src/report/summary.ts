import { styleText } from 'node:util';
import type { CollectedRollout } from '@agentlightning/core';
import { defaultStoreUrl } from '../config/default-store-url.ts';
import { conversationLines } from '../trace/conversation.ts';
import type { EvaluationSummary, TrainingSummary } from '../training-event.ts';
import { bar } from './bar.ts';
import { shortDuration } from './number-text.ts';
import { rewardCurve } from './reward-curve.ts';

/** A rollout to show as an example. */
export interface SummaryExamples {
  readonly before: CollectedRollout | null;
  readonly after: CollectedRollout | null;
}

/** The end of a run as text: reward before and after, the curve, two rollouts, and what to do next. */
export function summaryText(summary: TrainingSummary, examples: SummaryExamples, command = 'agl'): string {
  const verdict = summary.isImproved
    ? styleText('green', 'The agent got better.')
    : styleText('red', 'The held-out reward did not rise significantly.');
  const { before, after } = summary;
  return [
    '',
    `${verdict} Held-out reward ${before.reward.toFixed(2)} → ${after.reward.toFixed(2)} in ${shortDuration(summary.seconds)} (${pValueText(summary.pValue)}).`,
    '',
    evaluationLine('before', before),
    evaluationLine('after', after),
    '',
    'Training reward, step by step',
    ...rewardCurve(summary.rewardCurve, { width: 60, height: 5 }),
    '',
    ...exampleLines('One held-out rollout before', examples.before),
    ...exampleLines('The same task after', examples.after),
    `Everything is in ${nearPath(summary.storeUrl)} (run ${summary.runId}); checkpoints are in ${nearPath(summary.dataDir)}.`,
    '',
    'Try next',
    ...nextCommands(summary, command),
    '',
  ].join('\n');
}

/** Paths below the current folder read better without it. */
function nearPath(place: string): string {
  return place.replaceAll(`${process.cwd()}/`, '');
}

/** Commands that read look in the current folder unless they are told. */
function storeFlag({ storeUrl }: TrainingSummary): string {
  const near = nearPath(storeUrl);
  return near === defaultStoreUrl ? '' : ` --store ${near}`;
}

function nextCommands(summary: TrainingSummary, command: string): string[] {
  const rows: (readonly [line: string, meaning: string])[] = [
    [`${command} runs${storeFlag(summary)}`, 'the runs of this store'],
    ...(summary.exampleAfter === null
      ? []
      : [[`${command} show ${summary.exampleAfter}${storeFlag(summary)}`, 'the trace of that rollout'] as const]),
    [`${command} --help`, 'everything else'],
  ];
  const width = Math.max(...rows.map(([line]) => line.length));
  return rows.map(([line, meaning]) => `  ${line.padEnd(width)}  ${meaning}`);
}

function evaluationLine(name: string, evaluation: EvaluationSummary): string {
  const [low, high] = evaluation.ci95;
  const interval = `95% ${low.toFixed(2)} to ${high.toFixed(2)}, ${evaluation.rollouts} rollouts`;
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

function pValueText(pValue: number): string {
  return pValue < 1e-4 ? 'p < 0.0001' : `p = ${pValue.toFixed(4)}`;
}
