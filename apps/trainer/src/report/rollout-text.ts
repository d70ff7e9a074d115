import type { Attempt, Rollout, Span } from '@agentlightning/core';
import { type Cost, terminalRolloutStatuses } from '@agentlightning/core/store';
import { type TraceStep, terminalText, traceSummary, traceText } from '@agentlightning/trace';
import { conversationLines } from '../trace/conversation.ts';

/** A rollout with its trace. */
export interface ShownRollout {
  readonly rollout: Rollout;
  readonly attempts: readonly Attempt[];
  /** The spans of the shown attempt. */
  readonly spans: readonly Span[];
  readonly steps: readonly TraceStep[];
  /** The cost of the model calls of the shown attempt. @default not shown */
  readonly cost?: Cost;
}

/** A rollout with the tree of its trace, its conversations and its reward. */
export function rolloutText(
  { rollout, attempts, spans, steps, cost }: ShownRollout,
  look: { readonly isColoured: boolean },
): string {
  const { rolloutId } = rollout;
  return `${[
    `${rolloutId}  ${rollout.status}  ${rollout.mode ?? ''}  ${durationText(rollout)}`.trimEnd(),
    `run      ${rollout.runId ?? '-'}`,
    `task     ${terminalText(JSON.stringify(rollout.input))}`,
    `attempts ${attemptsText(attempts)}`,
    ...costLines(cost),
    '',
    ...(steps.length === 0 ? ['(no spans yet)'] : [traceText(steps, look), traceSummary(steps)]),
    '',
    ...conversationLines(spans),
  ].join('\n')}\n`;
}

function costLines(cost: Cost | undefined): readonly string[] {
  if (cost === undefined || (cost.amount === null && cost.missing.length === 0)) return [];
  return [`cost     ${terminalText(costText(cost))}`];
}

/** A cost with its currency; `-` with the settings that it needs without a price. */
export function costText({ amount, currency, missing }: Cost): string {
  return [amount === null ? '-' : `${Number(amount.toPrecision(3))} ${currency}`, ...missing].join('; ');
}

/** The attempts of a rollout, with their status. */
export function attemptsText(attempts: readonly Attempt[]): string {
  if (attempts.length === 0) return 'none yet';
  return attempts.map(({ sequenceId, attemptId, status }) => `#${sequenceId} ${attemptId} ${status}`).join(', ');
}

/** The duration of an ended rollout; empty before. */
export function durationText(rollout: Rollout): string {
  if (!terminalRolloutStatuses.includes(rollout.status) || rollout.endTimeMs === null) return '';
  return `${((rollout.endTimeMs - rollout.startTimeMs) / 1000).toFixed(2)} s`;
}
