import type { ParsedResponse } from './chat-message.ts';
import type { ChatRequest } from './chat-request.ts';
import type { ChatSampling, SampledResponse, TokenChoice, TokenLogprob } from './chat-sampling.ts';

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

/** The body of a chat completion that is not streamed. */
export function chatCompletion(
  identity: CompletionIdentity,
  sampled: {
    readonly request: ChatRequest;
    readonly results: readonly SampledResponse[];
    readonly sampling: ChatSampling;
  },
): Record<string, unknown> {
  const { request, results, sampling } = sampled;
  return {
    ...identity,
    object: 'chat.completion',
    choices: results.map((result, index) => {
      const parsed = sampling.read(result, callIdPrefix(identity.id, index));
      return {
        index,
        message: assistantMessage(parsed),
        finish_reason: parsed.finishReason,
        logprobs:
          request.logprobs === true && result.hasLogprobs !== false
            ? { content: result.choices.map((choice) => logprobEntry(choice, sampling)), refusal: null }
            : null,
        ...(request.return_token_ids === true ? { token_ids: result.choices.map(({ token }) => token) } : {}),
      };
    }),
    ...(request.return_token_ids === true ? { prompt_token_ids: sampling.promptTokens } : {}),
    usage: usageOf(results),
    policy_version: sampling.policyVersion,
  };
}

/** Makes the ids of tool calls unique in a conversation. */
export function callIdPrefix(completionId: string, choice: number): string {
  return `call_${completionId.slice('chatcmpl-'.length)}_${choice}`;
}

/** Tokens read and written, in OpenAI's form. */
export function usageOf(results: readonly SampledResponse[]): Record<string, unknown> {
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
export function logprobEntry(choice: TokenChoice, { tokenText }: Pick<ChatSampling, 'tokenText'>): LogprobEntry {
  const named = ({ token, logprob }: TokenLogprob): Omit<LogprobEntry, 'top_logprobs'> => {
    const { text, bytes } = tokenText(token);
    // JSON has no minus infinity; OpenAI writes -9999 for a probability near zero.
    return { token: text, logprob: Math.max(logprob, -9999), bytes };
  };
  return { ...named(choice), top_logprobs: choice.top.map(named) };
}

function assistantMessage({ content, reasoning, toolCalls }: ParsedResponse): Record<string, unknown> {
  return {
    role: 'assistant',
    content,
    refusal: null,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
}
