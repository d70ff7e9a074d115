/** One model call as state (prompt), action (response) and reward. */
export interface Transition {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** The span of the model call. */
  readonly spanId: string;
  /** Position of the call among the rollout's spans. */
  readonly sequenceId: number;
  /** The agent that made the call; null without a name. */
  readonly agentName: string | null;
  /** The active agents, from the outermost to `agentName`; null when unknown. */
  readonly agentPath: readonly string[] | null;
  /** Token ids of the prompt. */
  readonly promptTokenIds: readonly number[];
  /** The prompt's images in order, as data URLs. @default none */
  readonly images?: readonly string[];
  /** The sampled tokens. Never empty. */
  readonly responseTokenIds: readonly number[];
  /** Natural-log probabilities of the response tokens under the sampling policy; same length. */
  readonly responseLogprobs: readonly number[];
  /** The effective sampling temperature. */
  readonly temperature: number;
  /** Version of the weights that sampled its oldest token; null when unknown. */
  readonly policyVersion: number | null;
  /** Policy version of each response token; same length. @default `policyVersion` for all */
  readonly responsePolicyVersions?: readonly number[];
  /** Reward of this turn; null without one. */
  readonly reward: number | null;
}
