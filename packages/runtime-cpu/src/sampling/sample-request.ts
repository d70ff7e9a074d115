import type { SamplingRule, TokenChoice } from './token-choice.ts';

/** A request for one response. */
export interface SampleRequest extends SamplingRule {
  /** The prompt's token ids, at least one. */
  readonly promptTokens: readonly number[];
  /** Most tokens to sample. */
  readonly maxTokens: number;
  /** Texts that end the response when they appear in it. */
  readonly stop: readonly string[];
  /** With the same prompt, rule and weights, the same seed gives the same response. Drawn when absent. */
  readonly seed?: number;
  /** Ends the response early, with an error of code `CANCELLED`. */
  readonly signal?: AbortSignal;
}

/** A complete response. */
export interface SampleResult {
  readonly promptTokens: readonly number[];
  /** Every sampled token with its log-probability, the closing `<|end|>` included. */
  readonly choices: readonly TokenChoice[];
  readonly finishReason: 'stop' | 'length';
  /** The version of the weights that sampled it. */
  readonly weightVersion: number;
  /** Prompt tokens that did not have to be computed again. */
  readonly cachedTokens: number;
  /** The stop text that ended it, if one did. It is still in the tokens. */
  readonly stopString?: string;
}
