import { AgentLightningError, type Attempt, type Rollout, type Store } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { recordedFailure } from '@agentlightning/core/protocol';
import type { ServiceListener } from '../events/training-listener.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { failureLocation } from './failure-location.ts';

/** The error of a step or evaluation in which all rollouts failed. */
export async function allFailed(store: Store, collected: readonly FinishedRollout[]): Promise<AgentLightningError> {
  const first = collected[0];
  const rolloutId = first?.rollout.rolloutId ?? null;
  const { text, remedy } = first === undefined ? noRollout : await failureOf(store, first);
  const isModelGone = collected.every(({ failure }) => failure === 'infrastructure');
  return new AgentLightningError({
    code: isModelGone ? 'UPSTREAM_FAILED' : 'AGENT_FAILED',
    message: `all ${collected.length} rollouts failed; the first: ${text}`,
    ...(remedy === undefined ? {} : { remedy }),
    details: { rolloutId },
  });
}

/** The failure of a rollout, with its file and line and the command that shows its trace. */
export async function failureText(store: Store, collected: CollectedRollout): Promise<string> {
  return (await failureOf(store, collected)).text;
}

/** The text of a failure, and what to do about it. */
interface FailureDescription {
  readonly text: string;
  readonly remedy?: string | undefined;
}

const noRollout: FailureDescription = { text: 'there were none' };

async function failureOf(store: Store, { rollout, spans }: CollectedRollout): Promise<FailureDescription> {
  const attempt = await store.getLatestAttempt(rollout.rolloutId);
  const recorded = attempt === null ? null : recordedFailure(attempt);
  const location = failureLocation(spans);
  const at = location === null ? '' : ` at ${location}`;
  const what = recorded?.message ?? unrecorded(rollout, attempt);
  return { text: `${what}${at} (agl show ${rollout.rolloutId})`, remedy: recorded?.remedy };
}

/** Where warnings read failures and are emitted. */
export interface WarningServices {
  readonly store: Store;
  readonly emit: ServiceListener;
}

/** Warns of failed rollouts, with the reason of the first; does nothing without any. */
export async function warnOfRollouts(
  { store, emit }: WarningServices,
  {
    rollouts,
    total,
    what,
  }: { readonly rollouts: readonly CollectedRollout[]; readonly total: number; readonly what: string },
): Promise<void> {
  const [first] = rollouts;
  if (first === undefined) return;
  const reason = await failureText(store, first);
  emit({ type: 'warning', message: `${rollouts.length} of ${total} rollouts ${what}; the first: ${reason}` });
}

/** Describes a failure that no runner reported. */
function unrecorded({ status, config }: Rollout, attempt: Attempt | null): string {
  // An agent that blocks the event loop is not stopped in time, and may succeed after its timeout.
  if (attempt?.status !== 'succeeded') return `rollout ${attempt?.status ?? status}`;
  return `the agent finished after its timeout${config.timeoutMs === null ? '' : ` (${config.timeoutMs} ms)`}`;
}
