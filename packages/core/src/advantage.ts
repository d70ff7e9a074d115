/** The outcome of one rollout, as an advantage estimator sees it. */
export interface RolloutReturn {
  readonly rolloutId: string;
  readonly groupId: string;
  /** The rollout's return; null when it has none, which is not zero: it gets no advantage and moves no mean. */
  readonly value: number | null;
  /** How many tokens of the rollout are trained on; at least 0. */
  readonly trainedTokens: number;
}

/** What an advantage estimator found. */
export interface AdvantageEstimate {
  /** One number for each rollout, in the order they came; 0 where there is nothing to learn. */
  readonly advantages: readonly number[];
  /** How many groups had only one rollout with a return: nothing to compare with. */
  readonly singletonGroups: number;
  /** How many groups had equal returns throughout: nothing to prefer. */
  readonly constantGroups: number;
}

/** Turns returns into advantages: how much better each rollout was than what could be expected. */
export interface AdvantageEstimator {
  /** Its name in configurations, such as `grpo`. */
  readonly name: string;
  /** Estimates per rollout, never per row, so that a rollout of many rows does not count several times. */
  estimate(returns: readonly RolloutReturn[]): AdvantageEstimate;
}
