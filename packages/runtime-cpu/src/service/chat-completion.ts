import type { SampleResult } from '../sampling/sample-request.ts';
import type { TokenChoice, TokenLogprob } from '../sampling/token-choice.ts';
import type { ChatTool, ParsedResponse } from '../text/chat-message.ts';
import { parseResponse } from '../text/response-parser.ts';
import { decodeTokens } from '../text/tokenizer.ts';
import { vocabularySize } from '../text/vocabulary.ts';
import type { ChatRequest } from './chat-request.ts';
import type { ChatSampling } from './chat-sampling.ts';

/** The log-probability of a token in OpenAI's format. */
export interface LogprobEntry {
  readonly token: string;
  readonly logprob: number;
  /** The bytes of the token's text. */
  readonly bytes: readonly number[];
  readonly top_logprobs: readonly Omit<LogprobEntry, 'top_logprobs'>[];
}

/** The responding model, and the time. */
export interface CompletionIdentity {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
}

/** Parses a response as an assistant message; the stop text and everything after it are cut off. */
export function readResponse(result: SampleResult, tools: readonly ChatTool[], callIdPrefix: string): ParsedResponse {
  const tokens = result.choices.map(({ token }) => token);
  const parsed = parseResponse(tokens, { tools, finishReason: result.finishReason, callIdPrefix });
  const { content } = parsed;
  const end = result.stopString === undefined ? -1 : (content?.indexOf(result.stopString) ?? -1);
  return end < 0 || content === null ? parsed : { ...parsed, content: content.slice(0, end) };
}

/** The body of a chat completion that is not streamed. */
export function chatCompletion(
  identity: CompletionIdentity,
  sampled: {
    readonly request: ChatRequest;
    readonly results: readonly SampleResult[];
    readonly sampling: ChatSampling;
  },
): Record<string, unknown> {
  const { request, results, sampling } = sampled;
  return {
    ...identity,
    object: 'chat.completion',
    choices: results.map((result, index) => {
      const parsed = readResponse(result, sampling.tools, callIdPrefix(identity.id, index));
      return {
        index,
        message: assistantMessage(parsed),
        finish_reason: parsed.finishReason,
        logprobs: request.logprobs === true ? { content: result.choices.map(logprobEntry), refusal: null } : null,
        ...(request.return_token_ids === true ? { token_ids: result.choices.map(({ token }) => token) } : {}),
      };
    }),
    ...(request.return_token_ids === true ? { prompt_token_ids: sampling.promptTokens } : {}),
    usage: usageOf(results),
    policy_version: sampling.weightVersion,
  };
}

/** Makes the ids of tool calls unique in a conversation. */
export function callIdPrefix(completionId: string, choice: number): string {
  return `call_${completionId.slice('chatcmpl-'.length)}_${choice}`;
}

/** Tokens read and written, in OpenAI's form. */
export function usageOf(results: readonly SampleResult[]): Record<string, unknown> {
  const prompt = results[0]?.promptTokens.length ?? 0;
  const completion = results.reduce((sum, { choices }) => sum + choices.length, 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: results[0]?.cachedTokens ?? 0 },
  };
}

/** A token's log-probability in OpenAI's format. */
export function logprobEntry(choice: TokenChoice): LogprobEntry {
  return { ...namedLogprob(choice), top_logprobs: choice.top.map(namedLogprob) };
}

function namedLogprob({ token, logprob }: TokenLogprob): Omit<LogprobEntry, 'top_logprobs'> {
  // JSON has no minus infinity; OpenAI writes -9999 for a probability near zero.
  return { token: tokenTexts[token] ?? '', logprob: Math.max(logprob, -9999), bytes: tokenBytes[token] ?? [] };
}

const tokenTexts: readonly string[] = Array.from({ length: vocabularySize }, (_, token) => decodeTokens([token]));

const tokenBytes: readonly (readonly number[])[] = tokenTexts.map((text, token) =>
  token < 256 ? [token] : [...Buffer.from(text)],
);

function assistantMessage({ content, toolCalls }: ParsedResponse): Record<string, unknown> {
  return { role: 'assistant', content, refusal: null, ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}) };
}
