import { type Rollout, type Span, type Store, terminalRolloutStatuses } from '@agentlightning/core';
import { conversationLines } from '../trace/conversation.ts';
import { traceLines, traceTree } from '../trace/trace-tree.ts';
import { openExistingStore } from './open-existing-store.ts';

/** The flags of `agl show`. */
export interface ShowFlags {
  readonly store: string;
  readonly attempt: string;
  readonly json?: boolean;
}

/** Writes a rollout with its trace and conversation. */
export async function showRollout(rolloutId: string, flags: ShowFlags): Promise<void> {
  const store = await openExistingStore(flags.store);
  try {
    process.stdout.write(await rolloutText(store, rolloutId, flags));
  } finally {
    await store.close();
  }
}

async function rolloutText(store: Store, rolloutId: string, flags: ShowFlags): Promise<string> {
  const rollout = await store.getRollout(rolloutId);
  const { items: spans } = await store.querySpans({ rolloutId, attemptId: flags.attempt });
  if (flags.json === true) return `${JSON.stringify({ rollout, spans }, null, 2)}\n`;
  const { items: attempts } = await store.queryAttempts(rolloutId);
  const tried = attempts.map(({ sequenceId, attemptId, status }) => `#${sequenceId} ${attemptId} ${status}`).join(', ');
  return `${[
    `${rolloutId}  ${rollout.status}  ${rollout.mode ?? ''}  ${durationText(rollout)}`.trimEnd(),
    `run      ${rollout.runId ?? '-'}`,
    `task     ${JSON.stringify(rollout.input)}`,
    `attempts ${tried === '' ? 'none yet' : tried}`,
    '',
    ...treeLines(spans),
    '',
    ...conversationLines(spans),
  ].join('\n')}\n`;
}

function treeLines(spans: readonly Span[]): string[] {
  return spans.length === 0 ? ['(no spans yet)'] : traceLines(traceTree(spans));
}

function durationText(rollout: Rollout): string {
  if (!terminalRolloutStatuses.includes(rollout.status) || rollout.endTimeMs === null) return '';
  return `${((rollout.endTimeMs - rollout.startTimeMs) / 1000).toFixed(2)} s`;
}
