import type { ParsedResponse } from './chat-message.ts';
import type { ChatRequest, TokenizeRequest } from './chat-request.ts';

/** A token and its natural-log probability. */
export interface TokenLogprob {
  /** The token id. */
  readonly token: number;
  /** Its natural-log probability. */
  readonly logprob: number;
}

/** A sampled token with the likeliest alternatives, the likeliest first. */
export interface TokenChoice extends TokenLogprob {
  /** The likeliest tokens, as many as were requested. */
  readonly top: readonly TokenLogprob[];
}

/** A complete response. */
export interface SampledResponse {
  /** Token ids of the prompt. */
  readonly promptTokens: readonly number[];
  /** Every sampled token with its log-probability. */
  readonly choices: readonly TokenChoice[];
  /** `length` when the token limit or the context ended it. */
  readonly finishReason: 'stop' | 'length';
  /** Number of prompt tokens that were not computed again. */
  readonly cachedTokens: number;
  /** Whether the log-probabilities are those of the distribution it was sampled from. @default true */
  readonly hasLogprobs?: boolean;
  /** The stop text that ended it, if any. The tokens include it. */
  readonly stopString?: string;
}

/** A response in progress: iterate over it for the sampled tokens, or await `result`. */
export interface SamplingResponse extends AsyncIterable<TokenChoice> {
  /** The complete response. */
  readonly result: Promise<SampledResponse>;
}

/** A part of a response. */
export interface TextDelta {
  /** Text; possibly empty. */
  readonly content: string;
  /** Reasoning; possibly empty. */
  readonly reasoning: string;
}

/** Selects the part of a response that can be streamed before its end. */
export interface TextStream {
  /** Adds the next token; returns what to stream. */
  take(token: number): TextDelta;
  /** The remainder of the whole response. */
  rest(response: ParsedResponse): TextDelta;
}

/** The responses to one request, in progress. */
export interface ChatSampling {
  /** Token ids of the prompt. */
  readonly promptTokens: readonly number[];
  /** The version of the weights of all of them. */
  readonly policyVersion: number;
  /** One for each choice, at least one. */
  readonly responses: readonly SamplingResponse[];
  /** The assistant's message of a response. */
  readonly read: (response: SampledResponse, callIdPrefix: string) => ParsedResponse;
  /** The text of a response while it is sampled. */
  readonly streamText: () => TextStream;
  /** The text of a token alone, and its bytes. */
  readonly tokenText: (token: number) => { readonly text: string; readonly bytes: readonly number[] };
}

/** A model behind the endpoint. */
export interface ChatModel {
  /** The id that requests name. */
  readonly modelId: string;
  /** Why it accepts no requests now, after the model's name: `is paused`; null when it does. */
  readonly closedBecause: string | null;
  /** Starts the responses to a request; they are cancelled when the signal aborts. */
  chat(request: ChatRequest, signal: AbortSignal): ChatSampling;
  /** The token ids of a conversation. */
  tokenize(request: TokenizeRequest): readonly number[];
}
