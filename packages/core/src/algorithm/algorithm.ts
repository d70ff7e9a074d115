import type { Span, SpanInput } from '../spans/span.ts';
import type { Rollout } from '../store/rollout.ts';
import type { AdamParameters, LossSpec, TrainingBatch, TrainingDatum } from '../training-runtime/training-batch.ts';
import type { AttemptTraining } from './attempt-training.ts';
import type { PromptRequest, Teacher } from './teacher.ts';

/** A finished rollout with the spans of its latest attempt. */
export interface CollectedRollout {
  /** The rollout as it ended. */
  readonly rollout: Rollout;
  /** The attempt that the spans are of; null without an attempt. */
  readonly attemptId: string | null;
  /** The spans of the attempt, in order. */
  readonly spans: readonly Span[];
  /**
   * Reward of a rollout whose agent failed, instead of those that it emitted. Infrastructure failures have none.
   *
   * @default none: a rollout that did not succeed is not trained on
   */
  readonly failedReward?: number;
}

/** The finished rollouts of one task in one training step. */
export interface CollectedGroup {
  /** Id of the group. */
  readonly groupId: string;
  /** The rollouts of the same task. */
  readonly rollouts: readonly CollectedRollout[];
}

/**
 * Source of scores for sampled tokens: log-probabilities of the current weights, of the initial model of the run or of
 * {@link Algorithm.teacher}, or expected returns of the current value head.
 */
export type ScoringPolicy = 'current' | 'reference' | 'critic' | 'teacher';

/** Sequences to score before a step can be planned. */
export interface ScoringRequest {
  /** Sources of the scores. */
  readonly policies: readonly ScoringPolicy[];
  /** The rows to score. */
  readonly data: readonly TrainingDatum[];
  /** The rows that the teacher scores instead, where its prompts differ. @default `data` */
  readonly teacherData?: readonly TrainingDatum[];
}

/**
 * Natural-log probabilities of training tokens, or values, by scoring policy: for each datum of the request, in order,
 * an array with one entry per training token.
 */
export type SequenceScores = Readonly<Partial<Record<ScoringPolicy, readonly Float32Array[]>>>;

/** Position of a step in a run. */
export interface StepContext {
  /** From 1. */
  readonly step: number;
  /** Number of steps of the run. */
  readonly totalSteps: number;
  /** Policy version at the start of the step. */
  readonly policyVersion: number;
  /** Random seed of the algorithm for this step. */
  readonly seed: number;
  /** Maximum tokens of one batch, prompts included, from the runtime's capabilities. @default no limit */
  readonly maxBatchTokens?: number;
  /** Maximum tokens of a row that the teacher can score. @default no limit */
  readonly maxTeacherTokens?: number;
  /** Token ids of {@link Algorithm.teacherPrompts}, in order; null for a conversation that the model cannot render. @default none */
  readonly prompts?: readonly (readonly number[] | null)[];
  /** Scores requested by {@link Algorithm.scoring}. @default none */
  readonly scores?: SequenceScores;
}

/** One optimizer step: batches whose gradients are summed, then Adam. */
export interface ModelUpdate {
  /** The batches, in order. */
  readonly batches: readonly TrainingBatch[];
  /** The loss of all batches. */
  readonly loss: LossSpec;
  /** Parameters of the optimizer step after the batches. */
  readonly optimizer: AdamParameters;
}

/** Model updates of one step. */
export interface StepPlan {
  /** In order. Empty without a learning signal. */
  readonly updates: readonly ModelUpdate[];
  /** Reported counts and means: `rollouts/used`, `groups/constant`, `advantage/std`. */
  readonly metrics: Readonly<Record<string, number>>;
  /** How the step trains on each attempt, recorded with its trace for people. @default not recorded */
  readonly attempts?: readonly AttemptTraining[];
}

/** Computes model updates from rollouts. Trainer and runtime are independent of the concrete algorithm. */
export interface Algorithm {
  /** Distinguishes a training algorithm from a prompt search. @default 'training' */
  readonly kind?: 'training';
  /** Name in configurations, such as `grpo`. */
  readonly name: string;
  /** Number of rollouts per task that are compared. */
  readonly groupSize: number;
  /** Whether the model needs a value head: allows `critic` scoring and value targets. @default false */
  readonly needsValueHead?: boolean;
  /** The model behind the scores of `teacher`. @default none */
  readonly teacher?: Teacher;
  /**
   * Prompts that the teacher has instead of those of the rollouts. The trainer renders them with the chat template of the
   * model, and passes their token ids to `scoring` and `planStep` as `context.prompts`, with the same groups.
   */
  teacherPrompts?(groups: readonly CollectedGroup[]): readonly PromptRequest[];
  /**
   * The scores required before planning; null when none are. The trainer requests them from the runtime and passes them
   * to `planStep` with the same groups. Optional for algorithms without scoring.
   */
  scoring?(groups: readonly CollectedGroup[], context: StepContext): ScoringRequest | null;
  /**
   * Spans that the algorithm adds to a rollout's trace, such as rewards computed by rules. The trainer writes them to
   * the store. Span ids are deterministic per rollout, which makes the write idempotent.
   */
  annotate?(rollout: CollectedRollout): readonly SpanInput[];
  /** Deterministic: equal groups, context and options give an equal plan. */
  planStep(groups: readonly CollectedGroup[], context: StepContext): StepPlan;
}
