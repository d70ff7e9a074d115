import type { StepPlan } from '@agentlightning/core/algorithm';
import { runMetrics } from '@agentlightning/core/metrics';
import { mean } from '../events/mean.ts';
import type { TrainedPolicy } from '../session/session-policies.ts';
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
  /** The mean over policies; null when no policy had training tokens, or the runtimes do not measure it. */
  readonly entropy: number | null;
  readonly trainedTokens: number;
}

/**
 * Combines the metrics of all policies.
 *
 * @param reward - the mean reward of the rollouts that the step trains on
 */
export function policyMetrics(steps: readonly PolicyStep[], reward: number | null): StepMetrics {
  const shared = reward === null ? {} : { [runMetrics.rewardMean.name]: reward };
  const entries = steps.flatMap(({ policy, plan, result }) =>
    finiteEntries({ ...plan.metrics, ...result.metrics }).map(([name, value]) => [
      policy.name === null ? name : `${policy.name}/${name}`,
      value,
    ]),
  );
  const entropies = steps
    .flatMap(({ result }) => result.metrics[runMetrics.policyEntropy.name] ?? [])
    .filter(Number.isFinite);
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
