/** A reward: a number in one or more dimensions. */
export interface Reward {
  /** The dimension: `primary` unless named otherwise. */
  readonly name: string;
  /** A finite number of at most `maxRewardMagnitude`; higher is better. */
  readonly value: number;
}

/** A reward emitted in an attempt, with its position among the spans. */
export interface EmittedReward {
  /** Id of the span. */
  readonly spanId: string;
  /** Position among the rollout's spans: the reward applies to the preceding model calls. */
  readonly sequenceId: number;
  /** At least one dimension; the first one is the primary. */
  readonly rewards: readonly Reward[];
}
