import { createAlgorithm } from '@agentlightning/algorithms';
import { AgentLightningError, type Algorithm } from '@agentlightning/core';
import { policyKey, type ResolvedPolicy } from '../config/policies.ts';
import type { OpenModel } from './open-models.ts';

/** A model of the run at work: who it answers, and how it learns. */
export interface SessionPolicy extends ResolvedPolicy, OpenModel {
  /** Makes updates of rollouts; null when the policy stays as it is. */
  readonly learner: Algorithm | null;
}

/** A policy that is trained. */
export type TrainedPolicy = SessionPolicy & { readonly learner: Algorithm };

/** The policies of a run that are trained. */
export function trainedPolicies(policies: readonly SessionPolicy[]): readonly TrainedPolicy[] {
  return policies.filter((policy): policy is TrainedPolicy => policy.learner !== null);
}

/**
 * Makes the algorithm of a policy. Where a run names its policies, each learns from those calls alone that it answered.
 *
 * @param model - what calls that it answered are recorded with: the name of the model at its endpoint
 */
export function learnerOf(policy: ResolvedPolicy, model: string): Algorithm | null {
  if (policy.algorithm === null) return null;
  return createAlgorithm(policy.name === null ? policy.algorithm : { ...policy.algorithm, models: [model] });
}

/** Whether a policy's algorithm asks the model what it expects, and teaches it. */
export function needsValueHead(policy: ResolvedPolicy): boolean {
  return learnerOf(policy, policyKey(policy))?.needsValueHead === true;
}

/**
 * How many rollouts of each task the policies of a run compare; they share them.
 *
 * @throws AgentLightningError CONFIG when they do not agree
 */
export function groupSizeOf(policies: readonly ResolvedPolicy[]): number {
  const sizes = policies.flatMap((policy) => {
    const groupSize = learnerOf(policy, policyKey(policy))?.groupSize;
    return groupSize === undefined ? [] : [{ name: policyKey(policy), groupSize }];
  });
  const [first] = sizes;
  if (sizes.every(({ groupSize }) => groupSize === first?.groupSize)) return first?.groupSize ?? 1;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `policies: they learn from the same rollouts, and their algorithms have different group sizes: ${sizes
      .map(({ name, groupSize }) => `${name} ${groupSize}`)
      .join(', ')}`,
    remedy: 'Give each the same `groupSize`.',
  });
}
