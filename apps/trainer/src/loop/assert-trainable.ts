import { AgentLightningError, type CollectedRollout, modelCallFromSpan, type Span } from '@agentlightning/core';
import { primaryReward } from '../trace/primary-reward.ts';
import type { TrainingSession } from './training-session.ts';

/**
 * Stops a run that cannot learn, and says why: every rollout failed, none called the model, or none
 * gave a reward. A few such rollouts are only warned of.
 *
 * @throws AgentLightningError AGENT_FAILED, NOTHING_TO_TRAIN or INVALID_REWARD; RUNTIME_UNAVAILABLE or
 *   UNREACHABLE when rollouts failed because the model could not be reached
 */
export async function assertTrainable(session: TrainingSession, collected: readonly CollectedRollout[]): Promise<void> {
  const failed = collected.filter(({ rollout }) => rollout.status !== 'succeeded');
  if (failed.length > 0) await session.assertHealthy();
  const succeeded = collected.filter(({ rollout }) => rollout.status === 'succeeded');
  if (succeeded.length === 0) throw allFailed(collected);
  const hints = { rollout: succeeded[0]?.rollout.rolloutId ?? '' };
  if (!succeeded.some(({ spans }) => spans.some((span) => modelCallFromSpan(span) !== null))) {
    throw new AgentLightningError({
      code: 'NOTHING_TO_TRAIN',
      message: `none of the step's ${succeeded.length} rollouts called the model through the gateway`,
      remedy: `Give the agent's client the adapter (\`fetch: traceFetch()\`), and look at one: \`agl show ${hints.rollout}\`.`,
      details: hints,
    });
  }
  if (!succeeded.some(({ spans }) => primaryReward(spans) !== null)) {
    throw new AgentLightningError({
      code: 'INVALID_REWARD',
      message: `none of the step's ${succeeded.length} rollouts gave a reward`,
      details: hints,
    });
  }
  if (failed.length > 0) {
    session.emit({
      type: 'warning',
      message: `${failed.length} of ${collected.length} rollouts failed; the first: ${failureText(failed[0])}`,
    });
  }
}

function allFailed(collected: readonly CollectedRollout[]): AgentLightningError {
  const first = collected[0];
  return new AgentLightningError({
    code: 'AGENT_FAILED',
    message: `all ${collected.length} rollouts of the step failed; the first: ${failureText(first)}`,
    details: { rolloutId: first?.rollout.rolloutId ?? null },
  });
}

function failureText(collected: CollectedRollout | undefined): string {
  if (collected === undefined) return 'unknown';
  const { rollout, spans } = collected;
  const message = spans.map(exceptionMessage).find((text) => text !== null) ?? `rollout ${rollout.status}`;
  return `${message} (agl show ${rollout.rolloutId})`;
}

function exceptionMessage(span: Span): string | null {
  const recorded =
    span.attributes['exception.message'] ?? span.events.map((event) => event.attributes['exception.message'])[0];
  if (recorded !== undefined) return String(recorded);
  return span.status.code === 'ERROR' ? span.status.message : null;
}
