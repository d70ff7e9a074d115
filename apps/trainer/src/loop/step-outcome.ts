import { collectTrajectories } from '@agentlightning/algorithms';
import type { CollectedRollout, StepPlan } from '@agentlightning/core/algorithm';
import { mean } from '../evaluation/mean.ts';
import { groupRollouts } from '../rollouts/collect-rollouts.ts';
import type { TrainedPolicy } from '../session/session-policies.ts';
import { primaryRewards } from '../trace/primary-reward.ts';
import type { UpdateResult } from './update-weights.ts';

/** The update of one policy in a step. */
export interface PolicyStep {
  readonly policy: TrainedPolicy;
  readonly plan: StepPlan;
  readonly result: UpdateResult;
}

/** The metrics of a step over all policies. */
export interface StepMetrics {
  /** By name. Metrics of a named policy have its name as a prefix: `writer/policy/entropy`. */
  readonly metrics: Readonly<Record<string, number>>;
  /** The mean over policies; null when no policy had training tokens. */
  readonly entropy: number | null;
  readonly trainedTokens: number;
}

/**
 * The mean reward of all rollouts that a step has collected, also of those that it does not train on. Which rollouts are
 * set aside depends on their rewards: the mean of the others does not measure the policy.
 */
export function collectedReward(
  steps: readonly PolicyStep[],
  {
    rollouts,
    setAside,
  }: { readonly rollouts: readonly CollectedRollout[]; readonly setAside: readonly CollectedRollout[] },
): number {
  const [first] = steps;
  if (setAside.length === 0 || first === undefined) return trainedReward(steps, rollouts);
  const all = [...rollouts, ...setAside];
  if (first.policy.name !== null) return trainedReward(steps, all);
  const { trajectories } = collectTrajectories(groupRollouts(all), first.policy.algorithm ?? {});
  return mean(trajectories.flatMap(({ reward }) => reward ?? [])) ?? 0;
}

/**
 * The mean reward of the rollouts that a step trains on. Named policies may learn from different reward dimensions; it is then
 * the primary reward, which evaluations measure.
 */
export function trainedReward(steps: readonly PolicyStep[], collected: readonly CollectedRollout[]): number {
  const [first] = steps;
  if (first?.policy.name === null) return first.plan.metrics['reward/mean'] ?? 0;
  return mean(primaryRewards(collected)) ?? 0;
}

/** Combines the metrics of all policies. */
export function policyMetrics(steps: readonly PolicyStep[], reward: number): StepMetrics {
  const shared = steps[0]?.policy.name === null ? {} : { 'reward/mean': reward };
  const entries = steps.flatMap(({ policy, plan, result }) =>
    finiteEntries({ ...plan.metrics, ...result.metrics }).map(([name, value]) => [
      policy.name === null ? name : `${policy.name}/${name}`,
      value,
    ]),
  );
  const entropies = steps.flatMap(({ result }) => result.metrics['policy/entropy'] ?? []).filter(Number.isFinite);
  return {
    metrics: { ...shared, ...Object.fromEntries(entries) },
    entropy: mean(entropies),
    trainedTokens: steps.reduce((sum, { result }) => sum + result.trainedTokens, 0),
  };
}

/** The finite metrics: JSON cannot represent the others. */
function finiteEntries(metrics: Readonly<Record<string, number>>): [name: string, value: number][] {
  return Object.entries(metrics).filter(([, value]) => Number.isFinite(value));
}
