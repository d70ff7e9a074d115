import type { Algorithm } from '@agentlightning/core';
import type { ResolvedPolicy } from '../config/policies.ts';
import type { OpenModel } from './open-models.ts';

/** A policy of the run, with its model and algorithm. */
export interface SessionPolicy extends ResolvedPolicy, OpenModel {
  /** Plans updates from rollouts; null when the policy is not trained. */
  readonly learner: Algorithm | null;
}

/** A policy that is trained. */
export type TrainedPolicy = SessionPolicy & { readonly learner: Algorithm };

/** The policies of a run that are trained. */
export function trainedPolicies(policies: readonly SessionPolicy[]): readonly TrainedPolicy[] {
  return policies.filter((policy): policy is TrainedPolicy => policy.learner !== null);
}
