import type { Generation } from '../sampling/generation.ts';
import type { SampleResult } from '../sampling/sample-request.ts';
import type { TokenChoice } from '../sampling/token-choice.ts';
import type { ParsedResponse } from '../text/chat-message.ts';
import { decodeTokens } from '../text/tokenizer.ts';
import { type AnswerIdentity, callIdPrefix, logprobEntry, readResponse, usageOf } from './chat-answer.ts';
import type { ChatRequest } from './chat-request.ts';
import type { ChatSampling } from './chat-sampling.ts';

type Chunk = Record<string, unknown>;

/**
 * The chunks of a streamed chat completion, in OpenAI's order: a role, text as it comes (or tool calls
 * when they are whole), the finish reason, and the usage when it was asked for. Token ids are where
 * vLLM has them: the prompt's in the first chunk, the response's in the chunk of each token.
 */
export async function* chatChunks(
  identity: AnswerIdentity,
  request: ChatRequest,
  sampling: ChatSampling,
): AsyncGenerator<Chunk> {
  const wrap = (choices: readonly Chunk[], extra: Chunk = {}): Chunk => ({
    ...identity,
    object: 'chat.completion.chunk',
    choices,
    policy_version: sampling.generations[0]?.weightVersion ?? 0,
    ...extra,
  });
  const promptIds = request.return_token_ids === true ? { prompt_token_ids: sampling.promptTokens } : {};
  const results: SampleResult[] = [];
  for (const [index, generation] of sampling.generations.entries()) {
    yield wrap(
      [{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }],
      index === 0 ? promptIds : {},
    );
    const text = new StreamedText(request);
    for await (const choice of generation) {
      yield wrap([{ index, ...tokenChunk(choice, text.take(choice), request), finish_reason: null }]);
    }
    const result = await generation.result;
    results.push(result);
    const parsed = readResponse(result, sampling.tools, callIdPrefix(identity.id, index));
    const rest = text.rest(parsed);
    if (rest !== null) yield wrap([{ index, delta: rest, finish_reason: null }]);
    yield wrap([{ index, delta: {}, finish_reason: parsed.finishReason }]);
  }
  if (request.stream_options?.include_usage === true) yield wrap([], { usage: usageOf(results) });
}

/** Ends all responses whose reader has gone. */
export function abandon(generations: readonly Generation[]): void {
  for (const generation of generations) generation.abort('The caller hung up');
}

function tokenChunk(choice: TokenChoice, delta: Chunk, request: ChatRequest): Chunk {
  return {
    delta,
    logprobs: request.logprobs === true ? { content: [logprobEntry(choice)], refusal: null } : null,
    ...(request.return_token_ids === true ? { token_ids: [choice.token] } : {}),
  };
}

/** Decides which part of a response may be shown before its end: plain text with no stop text to watch for. */
class StreamedText {
  readonly #bytes: number[] = [];
  #shown = '';
  #isHeldBack: boolean;

  constructor(request: ChatRequest) {
    this.#isHeldBack = request.stop !== null && request.stop !== undefined;
  }

  /** The delta of the next token; empty while text is held back. */
  take({ token }: TokenChoice): Chunk {
    if (token >= 256) this.#isHeldBack = true;
    if (this.#isHeldBack) return {};
    this.#bytes.push(token);
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(this.#bytes), { stream: true });
    // Only whole, plainly spelt characters are shown at once; the rest comes with the end.
    if (!decodeTokens(this.#bytes).startsWith(text) || text.length <= this.#shown.length) return {};
    const content = text.slice(this.#shown.length);
    this.#shown = text;
    return { content };
  }

  /** What is left to show when the whole response is known; null when nothing is. */
  rest({ content, toolCalls }: ParsedResponse): Chunk | null {
    const left = content?.slice(this.#shown.length) ?? '';
    if (toolCalls.length === 0) return left === '' ? null : { content: left };
    return {
      ...(left === '' ? {} : { content: left }),
      tool_calls: toolCalls.map((call, index) => ({ index, ...call })),
    };
  }
}
