import type { JsonObject } from './json.ts';

/** One of the answers a model gave to one request; there are several when the request asked for `n > 1`. */
export interface ModelCallChoice {
  readonly index: number;
  /** Token ids as the engine sampled them; empty when the engine does not tell. */
  readonly responseTokenIds: readonly number[];
  /** Log-probability (natural logarithm) of each response token, at the sampling temperature; same length. */
  readonly responseLogprobs: readonly number[];
  readonly finishReason: string | null;
}

/** One request to a model and its answer, with the tokens as the engine saw them: what training is made of. */
export interface ModelCall {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly spanId: string;
  /** The order of the call among the rollout's spans. */
  readonly sequenceId: number;
  /** The engine's id of the answer; framework spans are joined on it. */
  readonly responseId: string | null;
  readonly model: string;
  /** The version of the weights that served the call; null when the engine does not tell. */
  readonly policyVersion: number | null;
  /** The agent that made the call, where an adapter could tell. */
  readonly agentName: string | null;
  /** The agents at work, from the outermost to `agentName`; null where nobody could tell. */
  readonly agentPath: readonly string[] | null;
  readonly promptTokenIds: readonly number[];
  /** At least one, in order of index. */
  readonly choices: readonly ModelCallChoice[];
  /** The sampling temperature that was in force. */
  readonly temperature: number;
  /** False when the call must not be trained on: partial, failed, or token counts that do not add up. */
  readonly isTrainable: boolean;
  readonly untrainableReason: string | null;
  /** The request body as the agent sent it; in a recorded call without credentials. */
  readonly request: JsonObject | null;
  /** The answer's body as the agent received it. */
  readonly response: JsonObject | null;
  /** Unix milliseconds. */
  readonly startTimeMs: number | null;
  /** Unix milliseconds. */
  readonly endTimeMs: number | null;
}
