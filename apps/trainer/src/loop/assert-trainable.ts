import { AgentLightningError } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { rolloutReward } from '../results/rollout-reward.ts';
import { allFailed } from '../rollouts/rollout-failures.ts';
import type { TrainingSession } from '../session/training-session.ts';

/**
 * Asserts that at least one rollout did not fail by infrastructure, one called the model, and one has a reward. A step in
 * which all agents failed is a result of the policy, if `failedReward` counts failures and the agents called the model.
 *
 * @throws AgentLightningError AGENT_FAILED, UPSTREAM_FAILED, NOTHING_TO_TRAIN or INVALID_REWARD; RUNTIME_UNAVAILABLE or
 *   UNREACHABLE when rollouts failed because the model is unreachable
 */
export async function assertTrainable(session: TrainingSession, collected: readonly FinishedRollout[]): Promise<void> {
  const { config, store, assertHealthy } = session;
  if (collected.some(({ failure }) => failure !== null)) await assertHealthy();
  const succeeded = collected.filter(({ failure }) => failure === null);
  const counted = collected.filter((rollout) => rolloutReward(rollout, config.reward) !== null);
  const hasCalled = [...succeeded, ...counted].some(({ spans }) =>
    spans.some((span) => modelCallFromSpan(span) !== null),
  );
  if (succeeded.length === 0 && (counted.length === 0 || !hasCalled)) throw await allFailed(store, collected);
  const hints = { rollout: (succeeded[0] ?? collected[0])?.rollout.rolloutId ?? '' };
  if (!hasCalled) {
    throw new AgentLightningError({
      code: 'NOTHING_TO_TRAIN',
      message: `none of the step's ${succeeded.length} rollouts called the model through the gateway`,
      remedy: `Pass the adapter to the agent's client (\`fetch: traceFetch()\`), and inspect a rollout: \`agl show ${hints.rollout}\`.`,
      details: hints,
    });
  }
  if (counted.length > 0) return;
  const { rewardName, rewardWeights } = config.reward.choice ?? {};
  const names = rewardWeights === undefined ? [rewardName ?? []].flat() : Object.keys(rewardWeights);
  throw new AgentLightningError({
    code: 'INVALID_REWARD',
    message: `none of the step's ${succeeded.length} rollouts has a reward${names.length === 0 ? '' : ` with ${names.join(' and ')}`}`,
    ...(names.length === 0
      ? {}
      : { remedy: `Return an object with ${names.join(' and ')} from the agent, or correct \`algorithm\`.` }),
    details: hints,
  });
}
