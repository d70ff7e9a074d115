import type { JsonObject } from '../base/json.ts';

/**
 * Purpose of a rollout: training, policy selection, final evaluation, or production: a trace of a deployment, which no runner
 * claims.
 */
export type RolloutMode = (typeof rolloutModes)[number];

/** The modes of rollouts. */
export const rolloutModes: readonly ['train', 'val', 'test', 'production'] = ['train', 'val', 'test', 'production'];

/** One of the choices of a model response; a request with `n > 1` has several. */
export interface ModelCallChoice {
  /** Position among the choices of the response. */
  readonly index: number;
  /** Sampled token ids; empty when the engine does not report them. */
  readonly responseTokenIds: readonly number[];
  /** Log-probability (natural logarithm) of each response token, at the sampling temperature; same length. */
  readonly responseLogprobs: readonly number[];
  /**
   * Policy version of each response token; same length. Absent when all tokens have the version of the call, so that
   * only responses that were sampled while weights were published have it.
   */
  readonly responsePolicyVersions?: readonly number[];
  /** Why the response ended, as the engine reports it. */
  readonly finishReason: string | null;
}

/** The policy version of the newest token of all choices; null when unknown. */
export function newestPolicyVersion({
  policyVersion,
  choices,
}: Pick<ModelCall, 'policyVersion' | 'choices'>): number | null {
  let newest = policyVersion;
  for (const { responsePolicyVersions = [] } of choices) {
    for (const version of responsePolicyVersions) newest = Math.max(newest ?? version, version);
  }
  return newest;
}

/** One model request and its response, with token ids as the engine used them: the unit of training data. */
export interface ModelCall {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** Id of the span. */
  readonly spanId: string;
  /** The order of the call among the rollout's spans. */
  readonly sequenceId: number;
  /** The engine's response id; framework spans are joined on it. */
  readonly responseId: string | null;
  /** The requested model: at a gateway, the name that its upstream received. */
  readonly model: string;
  /** The model that the response names. @default `model` */
  readonly responseModel?: string;
  /** Version of the weights that sampled the oldest token of all choices; null when the engine does not report it. */
  readonly policyVersion: number | null;
  /** The calling agent, where an adapter reports it. */
  readonly agentName: string | null;
  /** The active agents, from the outermost to `agentName`; null when unknown. */
  readonly agentPath: readonly string[] | null;
  /** Token ids of the prompt. */
  readonly promptTokenIds: readonly number[];
  /** Number of images of the prompt, which are in the messages of the request. @default 0 */
  readonly imageCount?: number;
  /** At least one, in order of index. */
  readonly choices: readonly ModelCallChoice[];
  /** The effective sampling temperature. */
  readonly temperature: number;
  /** False when the call must not be used for training: partial, failed, or with inconsistent token counts. */
  readonly isTrainable: boolean;
  /** Why the call cannot be trained on; null when it can. */
  readonly untrainableReason: string | null;
  /** Request parameters by which the recorded log-probabilities differ from the policy's, such as `top_p`. @default none */
  readonly alteredSampling?: readonly string[];
  /** Request body as the agent sent it; without credentials in a recorded call. */
  readonly request: JsonObject | null;
  /** Response body as the agent received it. */
  readonly response: JsonObject | null;
  /** Unix milliseconds. */
  readonly startTimeMs: number | null;
  /** Unix milliseconds. */
  readonly endTimeMs: number | null;
}
