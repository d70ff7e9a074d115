import type { EnqueueRolloutRequest } from '@agentlightning/core/store';
import type { ServiceListener } from '../events/training-listener.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { type CollectOptions, collectRollouts } from '../rollouts/collect-rollouts.ts';
import { allFailed, type WarningServices, warnOfRollouts } from '../rollouts/rollout-failures.ts';

/** The dependencies of an evaluation. */
export interface EvaluationServices extends CollectOptions {
  readonly emit: ServiceListener;
  /**
   * Whether failures of all agents are a result, as of a policy whose responses have become malformed. Otherwise they are
   * more likely an error of the agent's code.
   *
   * @default false
   */
  readonly mayAllFail?: boolean;
}

/**
 * Runs the rollouts of an evaluation, in training, in a prompt search and of `agl eval`. Rollouts that failed by
 * infrastructure are retried, then reported.
 *
 * @throws AgentLightningError when every rollout failed, by infrastructure or without `mayAllFail`: the evaluation has no result
 */
export async function collectEvaluation(
  requests: readonly EnqueueRolloutRequest[],
  services: EvaluationServices,
): Promise<readonly FinishedRollout[]> {
  const collected = await collectRollouts(requests, services);
  if (collected.some(({ failure }) => failure !== null)) await services.assertHealthy();
  const isResult = ({ failure }: FinishedRollout): boolean =>
    failure === null || (failure === 'agent' && services.mayAllFail === true);
  if (!collected.some(isResult)) throw await allFailed(services.store, collected);
  await warnOfLost(services, collected);
  await warnOfFailed(services, collected);
  return collected;
}

/** Warns of rollouts whose agent failed: they count as failures of the policy, and may be errors of the agent's code. */
export async function warnOfFailed(services: WarningServices, collected: readonly FinishedRollout[]): Promise<void> {
  const failed = collected.filter(({ failure }) => failure === 'agent');
  await warnOfRollouts(services, { rollouts: failed, total: collected.length, what: 'failed' });
}

/** Warns of rollouts that are excluded because they failed by infrastructure. */
export async function warnOfLost(services: WarningServices, collected: readonly FinishedRollout[]): Promise<void> {
  const lost = collected.filter(({ failure }) => failure === 'infrastructure');
  const what = 'are excluded because of infrastructure failures';
  await warnOfRollouts(services, { rollouts: lost, total: collected.length, what });
}
