import { AgentLightningError } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { FinishedRollout } from '../evaluation/finished-rollout.ts';
import { allFailed, warnOfRollouts } from '../rollouts/rollout-failures.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { primaryReward } from '../trace/primary-reward.ts';

/**
 * Asserts that at least one rollout succeeded, one called the model, and one has a reward. Emits a warning for the
 * rollouts that failed.
 *
 * @throws AgentLightningError AGENT_FAILED, UPSTREAM_FAILED, NOTHING_TO_TRAIN or INVALID_REWARD; RUNTIME_UNAVAILABLE or
 *   UNREACHABLE when rollouts failed because the model is unreachable
 */
export async function assertTrainable(session: TrainingSession, collected: readonly FinishedRollout[]): Promise<void> {
  const failed = collected.filter(({ rollout }) => rollout.status !== 'succeeded');
  if (failed.length > 0) await session.assertHealthy();
  const succeeded = collected.filter(({ rollout }) => rollout.status === 'succeeded');
  if (succeeded.length === 0) throw await allFailed(session.store, collected);
  const hints = { rollout: succeeded[0]?.rollout.rolloutId ?? '' };
  if (!succeeded.some(({ spans }) => spans.some((span) => modelCallFromSpan(span) !== null))) {
    throw new AgentLightningError({
      code: 'NOTHING_TO_TRAIN',
      message: `none of the step's ${succeeded.length} rollouts called the model through the gateway`,
      remedy: `Pass the adapter to the agent's client (\`fetch: traceFetch()\`), and inspect a rollout: \`agl show ${hints.rollout}\`.`,
      details: hints,
    });
  }
  if (!succeeded.some(({ spans }) => primaryReward(spans) !== null)) {
    throw new AgentLightningError({
      code: 'INVALID_REWARD',
      message: `none of the step's ${succeeded.length} rollouts has a reward`,
      details: hints,
    });
  }
  await warnOfRollouts(session, { rollouts: failed, total: collected.length, what: 'failed' });
}
