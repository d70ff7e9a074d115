/** One model call as reinforcement learning sees it: state (prompt), action (response), reward. */
export interface Transition {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** The span of the model call. */
  readonly spanId: string;
  /** The order of the call among the rollout's spans. */
  readonly sequenceId: number;
  readonly agentName: string | null;
  /** The agents at work, from the outermost to `agentName`; null where nobody could tell. */
  readonly agentPath: readonly string[] | null;
  readonly promptTokenIds: readonly number[];
  /** The tokens the policy chose. Never empty. */
  readonly responseTokenIds: readonly number[];
  /** Natural-log probabilities of the response tokens under the sampling policy; same length. */
  readonly responseLogprobs: readonly number[];
  /** The sampling temperature that was in force. */
  readonly temperature: number;
  /** The version of the weights that sampled it; null when unknown. */
  readonly policyVersion: number | null;
  /** What the environment gave for this turn; null when there was no reward for it. */
  readonly reward: number | null;
}
