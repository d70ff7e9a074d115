import { AgentLightningError, type Attempt, type Rollout, type Store } from '@agentlightning/core';
import { costOfCalls, pricesOf, usageOfSpans } from '@agentlightning/core/protocol';
import { traceHtml, traceMermaid, traceSteps } from '@agentlightning/trace';
import { attemptsText, costText, durationText, rolloutText, type ShownRollout } from '../../report/rollout-text.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { isColouredOutput, type ShowFlags, type ShowFormat, writeOutput } from './show-format.ts';

/** Writes a rollout with its trace and conversation, to the terminal or into a file. */
export async function showRollout(rolloutId: string, flags: ShowFlags): Promise<void> {
  const store = await openExistingStore(flags.store);
  try {
    const shown = await readShownRollout(store, rolloutId, flags.attempt);
    const look = { isColoured: isColouredOutput(flags.output) };
    await writeOutput(flags.output, flags.json === true ? jsonText(shown) : draw[flags.format](shown, look));
  } finally {
    await store.close();
  }
}

/**
 * Reads a rollout with the trace of an attempt.
 *
 * @param attempt - its id, or `latest`
 * @throws AgentLightningError NOT_FOUND for an unknown rollout or attempt
 */
export async function readShownRollout(store: Store, rolloutId: string, attempt: string): Promise<ShownRollout> {
  const rollout = await store.getRollout(rolloutId);
  const { items: attempts } = await store.queryAttempts(rolloutId);
  assertHasAttempt(rollout, attempts, attempt);
  const { items: spans } = await store.querySpans({ rolloutId, attemptId: attempt });
  const prices = rollout.runId === null ? null : pricesOf(await store.getRun(rollout.runId));
  return { rollout, attempts, spans, steps: traceSteps(spans), cost: costOfCalls(usageOfSpans(spans), prices) };
}

function assertHasAttempt({ rolloutId }: Rollout, attempts: readonly Attempt[], wanted: string): void {
  if (wanted === 'latest' || attempts.some(({ attemptId }) => attemptId === wanted)) return;
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `Rollout ${rolloutId} has no attempt ${wanted}; its attempts: ${attemptsText(attempts)}`,
    remedy: 'Set --attempt to one of these ids, or remove it for the latest.',
  });
}

const draw: Readonly<Record<ShowFormat, (shown: ShownRollout, look: { readonly isColoured: boolean }) => string>> = {
  tree: rolloutText,
  mermaid: ({ steps }) => `${traceMermaid(steps)}\n`,
  html: (shown) => traceHtml(shown.steps, { title: shown.rollout.rolloutId, facts: pageFacts(shown) }),
};

function jsonText({ rollout, spans, cost }: ShownRollout): string {
  return `${JSON.stringify({ rollout, cost, spans }, null, 2)}\n`;
}

function pageFacts({ rollout, attempts, cost }: ShownRollout): Readonly<Record<string, string>> {
  return {
    status: [rollout.status, durationText(rollout)].filter((part) => part !== '').join(', after '),
    mode: rollout.mode ?? 'none',
    run: rollout.runId ?? 'none',
    attempts: attemptsText(attempts),
    ...(cost === undefined ? {} : { cost: costText(cost) }),
    task: JSON.stringify(rollout.input),
  };
}
