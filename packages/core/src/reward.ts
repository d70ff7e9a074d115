/** A judgement of what an agent did: a number in one or more dimensions. */
export interface Reward {
  /** The dimension: `primary` unless named otherwise. */
  readonly name: string;
  /** A finite number of at most `maxRewardMagnitude`; higher is better. */
  readonly value: number;
}

/** A reward as it was emitted in an attempt, with its place among the spans. */
export interface EmittedReward {
  readonly spanId: string;
  /** The order of the reward among the rollout's spans: it belongs to the calls before it. */
  readonly sequenceId: number;
  /** The dimensions; the first one is the primary. At least one. */
  readonly rewards: readonly Reward[];
}
