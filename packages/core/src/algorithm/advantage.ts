/** Outcome of one rollout, as input of an advantage estimator. */
export interface RolloutReturn {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of its group. */
  readonly groupId: string;
  /**
   * The rollout's return; null without one. A null return is not zero: it gets no advantage and is not part of any
   * mean.
   */
  readonly value: number | null;
  /** Number of training tokens of the rollout; at least 0. */
  readonly trainedTokens: number;
}

/** Result of an advantage estimator. */
export interface AdvantageEstimate {
  /** One advantage per rollout, in input order; 0 without a learning signal. */
  readonly advantages: readonly number[];
  /** Number of groups with only one return, which cannot be compared. */
  readonly singletonGroups: number;
  /** Number of groups with equal returns. */
  readonly constantGroups: number;
}

/** Computes advantages from returns. */
export interface AdvantageEstimator {
  /** Name in configurations, such as `grpo`. */
  readonly name: string;
  /** Estimates per rollout and not per row, so that a rollout with several rows counts once. */
  estimate(returns: readonly RolloutReturn[]): AdvantageEstimate;
}
