/** A half-open interval `[start, end)` of token positions that one model call sampled. */
export interface TrainedInterval {
  readonly start: number;
  readonly end: number;
  /** The order of the model call among the rollout's spans. */
  readonly sequenceId: number;
  readonly agentName: string | null;
  /** The reward of this turn; null when there was none. */
  readonly reward: number | null;
  readonly policyVersion: number | null;
}

/**
 * Consecutive transitions of one attempt as one token sequence: each prompt continues the previous
 * prompt and response token by token. Tokens outside the trained intervals were given, not chosen.
 */
export interface TrajectoryRow {
  /** All tokens: the first prompt, the responses, and what the environment answered between them. */
  readonly tokenIds: readonly number[];
  /** What the policy sampled, in order and not overlapping. At least one. */
  readonly trained: readonly TrainedInterval[];
  /** Natural-log probabilities of all trained tokens, in order: length is the sum of interval lengths. */
  readonly samplingLogprobs: readonly number[];
  /** The sampling temperature, equal for all turns of a row. */
  readonly temperature: number;
}

/** What one finished rollout gives to training: its token rows and its reward. */
export interface Trajectory {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** The rollouts that share this are compared with each other. */
  readonly groupId: string;
  /** The reward of the whole rollout; null when it has none, which is not zero. */
  readonly reward: number | null;
  /**
   * Sequence id of the model call whose turn reward already includes the rollout's reward; null when no turn's does.
   *
   * @default null
   */
  readonly rewardedCall?: number | null;
  /** The sum of the rewards that were meant for each agent, by its name. @default none */
  readonly agentRewards?: Readonly<Record<string, number>>;
  /** Whether its end was cut off, so that what came after the last token is not known. @default false */
  readonly isTruncated?: boolean;
  /** One row when the prefix never broke; more when a prompt did not continue the tokens before it. */
  readonly rows: readonly TrajectoryRow[];
}

/** The trajectories of rollouts of the same task: what group-relative methods compare. */
export interface TrajectoryGroup {
  readonly groupId: string;
  readonly trajectories: readonly Trajectory[];
}
