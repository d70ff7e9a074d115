import { type Rollout, type Span, type Store, terminalRolloutStatuses } from '@agentlightning/core';
import type { Command } from 'commander';
import { conversationLines } from '../trace/conversation.ts';
import { traceLines, traceTree } from '../trace/trace-tree.ts';
import { defaultStoreUrl, openExistingStore } from './store-option.ts';

/** Adds `agl show`. */
export function addShowCommand(program: Command): void {
  program
    .command('show')
    .description('Show a rollout: its attempts, the tree of its trace, and the conversation.')
    .argument('<rollout>', 'the id of a rollout')
    .option('--store <url>', 'sqlite:<file>, or the http address of a store server', defaultStoreUrl)
    .option('--attempt <attempt>', 'which attempt', 'latest')
    .option('--json', 'the rollout and its spans as JSON')
    .action(async (rolloutId: string, flags: ShowFlags) => {
      const store = await openExistingStore(flags.store);
      try {
        process.stdout.write(await showRollout(store, rolloutId, flags));
      } finally {
        await store.close();
      }
    });
}

interface ShowFlags {
  readonly store: string;
  readonly attempt: string;
  readonly json?: boolean;
}

async function showRollout(store: Store, rolloutId: string, flags: ShowFlags): Promise<string> {
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
