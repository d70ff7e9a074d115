import type { Algorithm } from '@agentlightning/core';
import type { PromptRequest } from '@agentlightning/core/algorithm';
import type { TrainableModel } from '@agentlightning/core/training-runtime';
import type { ResolvedPolicy } from '../config/policies.ts';
import type { OpenModel } from './open-models.ts';

/** A policy of the run, with its model and algorithm. */
export interface SessionPolicy extends ResolvedPolicy, OpenModel {
  /** Plans updates from rollouts; null when the policy is not trained. */
  readonly learner: Algorithm | null;
  /** The teacher of the algorithm; null without one. */
  readonly teacher: OpenTeacher | null;
}

/** A model that an algorithm learns from. */
export interface OpenTeacher extends Pick<TrainableModel, 'logprobs'> {
  /** Maximum length of a row that it can score, in tokens. */
  readonly maxTokens: number;
  /** Token ids of conversations by the chat template of the policy; null for one that it refuses. */
  readonly renderPrompts: (requests: readonly PromptRequest[]) => Promise<readonly (readonly number[] | null)[]>;
}

/** A policy that is trained. */
export type TrainedPolicy = SessionPolicy & { readonly learner: Algorithm };

/** The policies of a run that are trained. */
export function trainedPolicies(policies: readonly SessionPolicy[]): readonly TrainedPolicy[] {
  return policies.filter((policy): policy is TrainedPolicy => policy.learner !== null);
}
