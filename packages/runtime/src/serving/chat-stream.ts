import { type CompletionIdentity, callIdPrefix, logprobEntry, usageOf } from './chat-completion.ts';
import type { ParsedResponse } from './chat-message.ts';
import type { ChatRequest } from './chat-request.ts';
import type {
  ChatSampling,
  SampledResponse,
  SamplingResponse,
  TextDelta,
  TextStream,
  TokenChoice,
} from './chat-sampling.ts';

type Chunk = Record<string, unknown>;

/**
 * The chunks of a streamed chat completion, in OpenAI's order: a role, text while it is sampled (or complete tool calls),
 * the finish reason, and the usage when requested. Token ids are placed as by vLLM: the prompt's in the first chunk,
 * the response's in the chunk of each token. The choices of one request are interleaved.
 */
export async function* chatChunks(
  identity: CompletionIdentity,
  request: ChatRequest,
  sampling: ChatSampling,
): AsyncGenerator<Chunk> {
  const withUsage = request.stream_options?.include_usage === true;
  const head: Chunk = {
    ...identity,
    object: 'chat.completion.chunk',
    policy_version: sampling.policyVersion,
    ...(withUsage ? { usage: null } : {}),
  };
  const wrap = (choice: Chunk): Chunk => ({ ...head, choices: [choice] });
  const promptIds = request.return_token_ids === true ? { prompt_token_ids: sampling.promptTokens } : {};
  const choices = sampling.responses.map((response, index) => new ChoiceStream(response, index, sampling));
  for (const { index } of choices) {
    const start = wrap({ index, delta: { role: 'assistant', content: '' }, finish_reason: null });
    yield index === 0 ? { ...start, ...promptIds } : start;
  }
  // The sampler advances responses in turn, so reading them in turn does not block any.
  for (let running = choices; running.length > 0; running = running.filter(({ result }) => result === null)) {
    for (const choice of running) {
      for (const part of await choice.next(request, identity)) yield wrap(part);
    }
  }
  if (withUsage) yield { ...head, choices: [], usage: usageOf(choices.flatMap(({ result }) => result ?? [])) };
}

/** One choice of a streamed response. */
class ChoiceStream {
  readonly index: number;
  /** The whole response; null until it is complete. */
  result: SampledResponse | null = null;
  readonly #response: SamplingResponse;
  readonly #tokens: AsyncIterator<TokenChoice>;
  readonly #text: TextStream;
  readonly #sampling: ChatSampling;

  constructor(response: SamplingResponse, index: number, sampling: ChatSampling) {
    this.index = index;
    this.#response = response;
    this.#tokens = response[Symbol.asyncIterator]();
    this.#text = sampling.streamText();
    this.#sampling = sampling;
  }

  /** The chunks of the next token; after the last token, the remainder. */
  async next(request: ChatRequest, { id }: CompletionIdentity): Promise<readonly Chunk[]> {
    const { index } = this;
    const { done, value } = await this.#tokens.next();
    if (done !== true) return [{ index, ...this.#tokenPart(value, request), finish_reason: null }];
    const result = await this.#response.result;
    const parsed = this.#sampling.read(result, callIdPrefix(id, index));
    this.result = result;
    return [{ index, delta: this.#restOf(parsed), finish_reason: parsed.finishReason }];
  }

  #tokenPart(choice: TokenChoice, request: ChatRequest): Chunk {
    return {
      delta: deltaOf(this.#text.take(choice.token)),
      logprobs: request.logprobs === true ? { content: [logprobEntry(choice, this.#sampling)], refusal: null } : null,
      ...(request.return_token_ids === true ? { token_ids: [choice.token] } : {}),
    };
  }

  #restOf(response: ParsedResponse): Chunk {
    const { toolCalls } = response;
    return {
      ...deltaOf(this.#text.rest(response)),
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map((call, index) => ({ index, ...call })) }),
    };
  }
}

function deltaOf({ content, reasoning }: TextDelta): Chunk {
  return {
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(content === '' ? {} : { content }),
  };
}
