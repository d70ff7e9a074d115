import type { Attempt, Rollout, Span } from '@agentlightning/core';
import { terminalRolloutStatuses } from '@agentlightning/core/store';
import { type TraceStep, terminalText, traceSummary, traceText } from '@agentlightning/trace';
import { conversationLines } from '../trace/conversation.ts';

/** A rollout with its trace. */
export interface ShownRollout {
  readonly rollout: Rollout;
  readonly attempts: readonly Attempt[];
  /** The spans of the shown attempt. */
  readonly spans: readonly Span[];
  readonly steps: readonly TraceStep[];
}

/** A rollout with the tree of its trace, its conversations and its reward. */
export function rolloutText(
  { rollout, attempts, spans, steps }: ShownRollout,
  look: { readonly isColoured: boolean },
): string {
  const { rolloutId } = rollout;
  return `${[
    `${rolloutId}  ${rollout.status}  ${rollout.mode ?? ''}  ${durationText(rollout)}`.trimEnd(),
    `run      ${rollout.runId ?? '-'}`,
    `task     ${terminalText(JSON.stringify(rollout.input))}`,
    `attempts ${attemptsText(attempts)}`,
    '',
    ...(steps.length === 0 ? ['(no spans yet)'] : [traceText(steps, look), traceSummary(steps)]),
    '',
    ...conversationLines(spans),
  ].join('\n')}\n`;
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
