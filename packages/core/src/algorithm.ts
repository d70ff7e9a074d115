import type { Rollout } from './rollout.ts';
import type { Span } from './span.ts';
import type { AdamParameters, LossSpec, TrainingBatch } from './training-batch.ts';

/** A finished rollout with everything that was recorded in its latest attempt. */
export interface CollectedRollout {
  readonly rollout: Rollout;
  readonly attemptId: string | null;
  readonly spans: readonly Span[];
}

/** The finished rollouts of one task in one training step. */
export interface CollectedGroup {
  readonly groupId: string;
  readonly rollouts: readonly CollectedRollout[];
}

/** Where in a run a step is. */
export interface StepContext {
  /** From 1. */
  readonly step: number;
  readonly totalSteps: number;
  /** The version of the policy that is trained now. */
  readonly policyVersion: number;
  /** Seed for whatever the algorithm draws at random in this step. */
  readonly seed: number;
  /** Most tokens of one batch, prompts included, as the runtime's capabilities say. @default no limit */
  readonly maxBatchTokens?: number;
}

/** One optimizer step: batches whose gradients are added up, then Adam. */
export interface ModelUpdate {
  readonly batches: readonly TrainingBatch[];
  readonly loss: LossSpec;
  readonly optimizer: AdamParameters;
}

/** What an algorithm made of a step's rollouts. */
export interface StepPlan {
  /** In order. Empty when there is nothing to learn. */
  readonly updates: readonly ModelUpdate[];
  /** Counts and means for the record: `rollouts/used`, `groups/constant`, `advantage/std`. */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Turns rollouts into model updates. The trainer never asks which algorithm it has; the runtime
 * never knows.
 */
export interface Algorithm {
  /** Its name in configurations, such as `grpo`. */
  readonly name: string;
  /** How many rollouts of each task it compares. */
  readonly groupSize: number;
  /** Pure: the same groups, context and options give the same plan. */
  planStep(groups: readonly CollectedGroup[], context: StepContext): StepPlan;
}
