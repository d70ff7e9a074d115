/** A half-open interval `[start, end)` of token positions that one model call sampled. */
export interface TrainedInterval {
  /** First position. */
  readonly start: number;
  /** Position after the last one. */
  readonly end: number;
  /** Position of the model call among the rollout's spans. */
  readonly sequenceId: number;
  /** The agent that made the call; null without a name. */
  readonly agentName: string | null;
  /** Reward of this turn; null without one. */
  readonly reward: number | null;
  /** Version of the weights that sampled its oldest token; null when unknown. */
  readonly policyVersion: number | null;
  /** Policy version of each of its tokens. @default `policyVersion` for all */
  readonly policyVersions?: readonly number[];
}

/**
 * Consecutive transitions of one attempt as one token sequence: each prompt continues the previous prompt and response
 * token by token. Tokens outside the training intervals are input.
 */
export interface TrajectoryRow {
  /** All tokens: the first prompt, the responses, and the environment's tokens between them. */
  readonly tokenIds: readonly number[];
  /** The sampled intervals, in order and disjoint. At least one. */
  readonly trained: readonly TrainedInterval[];
  /** Natural-log probabilities of all training tokens, in order; the length is the sum of the interval lengths. */
  readonly samplingLogprobs: readonly number[];
  /** The sampling temperature, equal for all turns of a row. */
  readonly temperature: number;
  /** The images of its tokens, in order. @default none */
  readonly images?: readonly RowImage[];
}

/** An image of a row. */
export interface RowImage {
  /** Data URL with the file in base64. */
  readonly url: string;
  /** Index of the first trained interval whose prompt has it. */
  readonly turn: number;
}

/** Training data of one finished rollout: token rows and reward. */
export interface Trajectory {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** Rollouts with the same group id are compared with each other. */
  readonly groupId: string;
  /** Reward of the whole rollout; null without one, which is not zero. */
  readonly reward: number | null;
  /**
   * Sequence id of the model call whose turn reward includes the rollout's reward; null when none does.
   *
   * @default null
   */
  readonly rewardedCall?: number | null;
  /** Sum of the rewards of each agent, by name. @default none */
  readonly agentRewards?: Readonly<Record<string, number>>;
  /** Whether the end was truncated, so that the state after the last token is unknown. @default false */
  readonly isTruncated?: boolean;
  /** Whether the agent failed, so that `reward` is {@link CollectedRollout.failedReward}: it is not imitated. @default false */
  readonly isFailed?: boolean;
  /** One row when every prompt continues the previous tokens; more otherwise. */
  readonly rows: readonly TrajectoryRow[];
}

/** Trajectories of rollouts of the same task, which group-relative methods compare. */
export interface TrajectoryGroup {
  /** Id of the group. */
  readonly groupId: string;
  /** The trajectories of its rollouts. */
  readonly trajectories: readonly Trajectory[];
}
