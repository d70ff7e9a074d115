import type { TokenChoice } from '@agentlightning/runtime/internal/serving';
import type { SamplingRule } from './token-choice.ts';

/** A request for one response. */
export interface SampleRequest extends SamplingRule {
  /** The prompt's token ids, at least one. */
  readonly promptTokens: readonly number[];
  /** Maximum number of sampled tokens. */
  readonly maxTokens: number;
  /** Tokens of the response, ending with `<|end|>`, which are scored instead of sampled (teacher forcing). Sampled when absent. */
  readonly forcedTokens?: readonly number[];
  /** Texts that end the response. */
  readonly stop: readonly string[];
  /** With the same prompt, rule and weights, the same seed gives the same response. Random when absent. */
  readonly seed?: number;
  /** Cancels the response with an error of code `CANCELLED`. */
  readonly signal?: AbortSignal;
}

/** A complete response. */
export interface SampleResult {
  /** Token ids of the prompt. */
  readonly promptTokens: readonly number[];
  /** Every sampled token with its log-probability, the closing `<|end|>` included. */
  readonly choices: readonly TokenChoice[];
  /** Why the generation ended. */
  readonly finishReason: 'stop' | 'length';
  /** The version of the weights that sampled it. */
  readonly weightVersion: number;
  /** Number of prompt tokens reused from the cache. */
  readonly cachedTokens: number;
  /** The stop text that ended it, if any. The tokens include it. */
  readonly stopString?: string;
}
