/**
 * Why a step did not train on a model call: `no-reward` without a reward to learn from, `stale` for tokens of a policy that is
 * too old, `turn-limit` for turns above the limit per rollout, `constant-group` for groups with equal rewards.
 */
export type TrainingExclusion = 'no-reward' | 'stale' | 'turn-limit' | 'constant-group';

/** How a step trained on a model call. */
export interface CallTraining {
  /** Sequence id of the model call's span. */
  readonly sequenceId: number;
  /** Advantage of its tokens, the mean when they differ; null when it was not trained on. */
  readonly advantage: number | null;
  /** Advantage of each response token; null when all are equal. */
  readonly tokenAdvantages: readonly number[] | null;
  /**
   * Natural-log probability of each response token under the weights before the step; null when the algorithm does not
   * score them, or the call was not trained on.
   */
  readonly trainerLogprobs: readonly number[] | null;
  /** Null when it was trained on. */
  readonly exclusion: TrainingExclusion | null;
}

/** How a step trained on the model calls of an attempt. Calls that cannot be trained on are not among them. */
export interface AttemptTraining {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** How each model call was trained on. */
  readonly calls: readonly CallTraining[];
}
