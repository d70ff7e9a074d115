import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AgentLightningError, type Attempt, type Rollout, type Span, type Store } from '@agentlightning/core';
import { terminalRolloutStatuses } from '@agentlightning/core/store';
import {
  type TraceStep,
  terminalText,
  traceHtml,
  traceMermaid,
  traceSteps,
  traceSummary,
  traceText,
} from '@agentlightning/trace';
import { conversationLines } from '../../trace/conversation.ts';
import { openExistingStore } from '../open-existing-store.ts';
import type { ShowFlags, ShowFormat } from './show-format.ts';

/** Writes a rollout with its trace and conversation, to the terminal or into a file. */
export async function showRollout(rolloutId: string, flags: ShowFlags): Promise<void> {
  const store = await openExistingStore(flags.store);
  try {
    const shown = await readShown(store, rolloutId, flags);
    const isColoured = flags.output === '-' && process.stdout.isTTY && process.stdout.hasColors();
    const text = flags.json === true ? jsonText(shown) : draw[flags.format](shown, { isColoured });
    if (flags.output === '-') process.stdout.write(text);
    else await writeTo(flags.output, text);
  } finally {
    await store.close();
  }
}

async function writeTo(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  process.stdout.write(`Written to ${path}\n`);
}

/** The data of `agl show`. */
interface ShownRollout {
  readonly rollout: Rollout;
  readonly attempts: readonly Attempt[];
  /** Of the attempt that is shown. */
  readonly spans: readonly Span[];
  readonly steps: readonly TraceStep[];
}

async function readShown(store: Store, rolloutId: string, flags: ShowFlags): Promise<ShownRollout> {
  const rollout = await store.getRollout(rolloutId);
  const { items: attempts } = await store.queryAttempts(rolloutId);
  assertHasAttempt(rollout, attempts, flags.attempt);
  const { items: spans } = await store.querySpans({ rolloutId, attemptId: flags.attempt });
  return { rollout, attempts, spans, steps: traceSteps(spans) };
}

function assertHasAttempt({ rolloutId }: Rollout, attempts: readonly Attempt[], wanted: string): void {
  if (wanted === 'latest' || attempts.some(({ attemptId }) => attemptId === wanted)) return;
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `Rollout ${rolloutId} has no attempt ${wanted}; its attempts: ${attemptsText(attempts)}`,
    remedy: 'Give --attempt the id of one of them, such as at-3f9a, or leave it out for the latest.',
  });
}

const draw: Readonly<Record<ShowFormat, (shown: ShownRollout, look: { readonly isColoured: boolean }) => string>> = {
  tree: treeText,
  mermaid: ({ steps }) => `${traceMermaid(steps)}\n`,
  html: (shown) => traceHtml(shown.steps, { title: shown.rollout.rolloutId, facts: pageFacts(shown) }),
};

function jsonText({ rollout, spans }: ShownRollout): string {
  return `${JSON.stringify({ rollout, spans }, null, 2)}\n`;
}

function treeText({ rollout, attempts, spans, steps }: ShownRollout, look: { readonly isColoured: boolean }): string {
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

function pageFacts({ rollout, attempts }: ShownRollout): Readonly<Record<string, string>> {
  return {
    status: [rollout.status, durationText(rollout)].filter((part) => part !== '').join(', after '),
    mode: rollout.mode ?? 'none',
    run: rollout.runId ?? 'none',
    attempts: attemptsText(attempts),
    task: JSON.stringify(rollout.input),
  };
}

function attemptsText(attempts: readonly Attempt[]): string {
  if (attempts.length === 0) return 'none yet';
  return attempts.map(({ sequenceId, attemptId, status }) => `#${sequenceId} ${attemptId} ${status}`).join(', ');
}

function durationText(rollout: Rollout): string {
  if (!terminalRolloutStatuses.includes(rollout.status) || rollout.endTimeMs === null) return '';
  return `${((rollout.endTimeMs - rollout.startTimeMs) / 1000).toFixed(2)} s`;
}
