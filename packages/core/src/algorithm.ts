import type { Rollout } from './rollout.ts';
import type { Span, SpanInput } from './span.ts';
import type { AdamParameters, LossSpec, TrainingBatch, TrainingDatum } from './training-batch.ts';

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

/**
 * Who may be asked about sampled tokens: the weights in training, or the model as the run began with it, for the
 * log-probability of each; or the value head of the weights in training, for the return it expects before each.
 */
export type ScoringPolicy = 'current' | 'reference' | 'critic';

/** Sequences whose tokens are to be scored before a step can be planned. */
export interface ScoringRequest {
  readonly policies: readonly ScoringPolicy[];
  readonly data: readonly TrainingDatum[];
}

/**
 * Natural-log probabilities of trained tokens, or values, by who was asked: for each datum of the request, in its order, an
 * array with an entry for each trained token.
 */
export type SequenceScores = Readonly<Partial<Record<ScoringPolicy, readonly Float32Array[]>>>;

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
  /** The answer to {@link Algorithm.scoring}. @default none, for an algorithm that does not ask */
  readonly scores?: SequenceScores;
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
  /** Tells it from a search for prompts, which trains nothing. @default 'training' */
  readonly kind?: 'training';
  /** Its name in configurations, such as `grpo`. */
  readonly name: string;
  /** How many rollouts of each task it compares. */
  readonly groupSize: number;
  /** Whether the model it trains needs a value head: it may ask the `critic` then, and send value targets. @default false */
  readonly needsValueHead?: boolean;
  /**
   * What must be known of a step's sequences before it can be planned; null when nothing. The trainer asks the runtime
   * and gives the answer to `planStep` with the same groups. An algorithm that never asks leaves the method out.
   */
  scoring?(groups: readonly CollectedGroup[], context: StepContext): ScoringRequest | null;
  /**
   * What the algorithm found in a rollout, as spans for its trace, such as rewards that rules gave. The trainer writes them
   * to the store; the same rollout gives the same span ids, so that nothing is written twice.
   */
  annotate?(rollout: CollectedRollout): readonly SpanInput[];
  /** Pure: the same groups, context and options give the same plan. */
  planStep(groups: readonly CollectedGroup[], context: StepContext): StepPlan;
}
