import {
  AgentLightningError,
  type Attempt,
  type CollectedRollout,
  modelCallFromSpan,
  type Rollout,
  type Store,
} from '@agentlightning/core';
import { z } from 'zod';

/** The error of a step or evaluation whose rollouts have all failed. */
export async function allFailed(store: Store, collected: readonly CollectedRollout[]): Promise<AgentLightningError> {
  const first = collected[0];
  const rolloutId = first?.rollout.rolloutId ?? null;
  const reason = first === undefined ? 'there were none' : await failureText(store, first);
  const isModelGone = collected.every(hasUnansweredCall);
  return new AgentLightningError({
    code: isModelGone ? 'UPSTREAM_FAILED' : 'AGENT_FAILED',
    message: `all ${collected.length} rollouts failed; the first: ${reason}`,
    details: { rolloutId },
  });
}

/** What the runner keeps of a failure, in the attempt's metadata. */
const recordedFailure = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** Why a rollout failed, and how to see more of it. */
export async function failureText(store: Store, { rollout }: CollectedRollout): Promise<string> {
  const attempt = await store.getLatestAttempt(rollout.rolloutId);
  const recorded = recordedFailure.safeParse(attempt?.metadata).data?.error.message;
  return `${recorded ?? unrecorded(rollout, attempt)} (agl show ${rollout.rolloutId})`;
}

/** What the store knows of a failure that no runner told. */
function unrecorded({ status, config }: Rollout, attempt: Attempt | null): string {
  // An agent that never lets anything else run is not stopped in time, and ends well when it is over already.
  if (attempt?.status !== 'succeeded') return `rollout ${attempt?.status ?? status}`;
  return `the agent finished after its time was up${config.timeoutMs === null ? '' : ` (${config.timeoutMs} ms)`}`;
}

/** Whether a model call of the rollout failed because the model endpoint did; the gateway says so in its record. */
export function hasUnansweredCall({ spans }: CollectedRollout): boolean {
  return spans.some((span) => modelCallFromSpan(span)?.untrainableReason?.startsWith('[UPSTREAM_FAILED]') === true);
}
