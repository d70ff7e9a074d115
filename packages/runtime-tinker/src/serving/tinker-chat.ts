import { randomInt } from 'node:crypto';
import { AgentLightningError, ValidationError } from '@agentlightning/core';
import {
  type ChatRequest,
  type ChatSampling,
  ContextLengthError,
  choiceSeeds,
  offeredTools,
  type ParsedResponse,
  type SampledResponse,
  type SamplingResponse,
  stopTexts,
  type TextDelta,
  type TextStream,
  type TokenChoice,
} from '@agentlightning/runtime/internal/serving';
import type { ModelText } from '../text/model-text.ts';
import type { SampledSequence, SampleRequest } from '../wire/sample-messages.ts';
import { readResponse, untilStop } from './read-response.ts';
import { type ReasoningPlace, reasoningPlace, splitBegin } from './reasoning.ts';

/** What samples from one version of the weights. */
export interface ChatSampler {
  readonly text: ModelText;
  readonly policyVersion: number;
  readonly sample: (request: SampleRequest) => Promise<SampledSequence>;
  /** The log-probabilities of a given response, one for each of its tokens. */
  readonly score: (promptTokens: readonly number[], response: readonly number[]) => Promise<readonly number[]>;
}

/** Default maximum length of a response, in tokens. */
const defaultMaxTokens = 1024;

/**
 * Starts the responses to a request. The server samples whole responses, so that a stream begins when a response has ended.
 *
 * @throws ValidationError when the template rejects the conversation, or a field is not supported
 * @throws ContextLengthError when the prompt leaves no room for a response
 */
export function startChat(sampler: ChatSampler, request: ChatRequest, signal: AbortSignal): ChatSampling {
  if ((request.top_logprobs ?? 0) > 0) {
    const message = 'a Tinker server returns no alternatives to a token; leave it out';
    throw new ValidationError('The request', [{ path: 'top_logprobs', message }]);
  }
  const { text, policyVersion } = sampler;
  const tools = offeredTools(request);
  const conversation = { messages: request.messages, tools, settings: request.chat_template_kwargs };
  const promptTokens = request.prompt_token_ids ?? text.encode(text.template.render(conversation));
  const { temperature, top_p: topP } = request;
  const sample = {
    promptTokens,
    maxTokens: maxTokensOf(request, promptTokens.length, text),
    temperature: temperature ?? 1,
    topP: topP ?? 1,
    vocabularySize: text.vocabularySize,
    stopTokens: [...text.endTokens],
  };
  const stops = stopTexts(request);
  const place = reasoningPlace(text, promptTokens);
  const sequences = request.forced_message
    ? forced(sampler, promptTokens, text.encode(text.template.renderResponse(conversation, request.forced_message)))
    : sampler.sample;
  const responses = seedsOf(request).map((seed) =>
    responseOf(sequences({ ...sample, seed }), { text, stops, signal, sample }),
  );
  return {
    promptTokens,
    policyVersion,
    responses,
    read: (response, callIdPrefix) => readResponse(text, response, { tools, callIdPrefix, place }),
    streamText: () => new StreamedText(text, { isHeldBack: stops.length > 0 || tools.length > 0, place }),
    tokenText: (token) => text.tokenText(token),
  };
}

/** Returns the given response, whatever the request. */
function forced(
  { score }: ChatSampler,
  promptTokens: readonly number[],
  tokens: readonly number[],
): () => Promise<SampledSequence> {
  const sequence = score(promptTokens, tokens).then(
    (logprobs): SampledSequence => ({ tokens, logprobs, stopReason: 'stop' }),
  );
  return () => sequence;
}

interface ResponsePlace {
  readonly text: ModelText;
  readonly stops: readonly string[];
  readonly signal: AbortSignal;
  readonly sample: Omit<SampleRequest, 'seed'>;
}

function responseOf(sampling: Promise<SampledSequence>, place: ResponsePlace): SamplingResponse {
  const result = untilAborted(sampling, place.signal).then((sampled) => cutAtStop(sampled, place));
  // Iterating callers receive the failure there; here it must not be unhandled.
  result.catch(() => undefined);
  return {
    result,
    async *[Symbol.asyncIterator](): AsyncGenerator<TokenChoice> {
      yield* (await result).choices;
    },
  };
}

async function untilAborted<TResult>(work: Promise<TResult>, signal: AbortSignal): Promise<TResult> {
  const cancelled = new Promise<never>((_, reject) => {
    const cancel = (): void =>
      reject(new AgentLightningError({ code: 'CANCELLED', message: 'The request was cancelled' }));
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
  });
  return await Promise.race([work, cancelled]);
}

/** A response up to the token that completes a stop text. */
function cutAtStop({ tokens, logprobs, stopReason }: SampledSequence, place: ResponsePlace): SampledResponse {
  const { text, stops, sample } = place;
  const { count, stop } = untilStop(text, tokens, stops);
  return {
    promptTokens: sample.promptTokens,
    choices: tokens.slice(0, count).map((token, at) => ({ token, logprob: logprobs[at] ?? 0, top: [] })),
    finishReason: stop === null ? stopReason : 'stop',
    cachedTokens: 0,
    // The log-probabilities are those of the model, not of the distribution that was sampled from.
    hasLogprobs: sample.temperature === 1 && sample.topP === 1,
    ...(stop === null ? {} : { stopString: stop }),
  };
}

/** The text and the reasoning of a response, token by token, without broken characters. */
class StreamedText implements TextStream {
  readonly #text: ModelText;
  readonly #isHeldBack: boolean;
  readonly #place: ReasoningPlace;
  readonly #tokens: number[] = [];
  #shown: TextDelta = { content: '', reasoning: '' };

  constructor(
    text: ModelText,
    { isHeldBack, place }: { readonly isHeldBack: boolean; readonly place: ReasoningPlace },
  ) {
    this.#text = text;
    this.#isHeldBack = isHeldBack;
    this.#place = place;
  }

  take(token: number): TextDelta {
    if (this.#isHeldBack || this.#text.endTokens.has(token)) return { content: '', reasoning: '' };
    this.#tokens.push(token);
    const whole = this.#text.decode(this.#tokens, { skipSpecialTokens: true }).replace(/\uFFFD+$/u, '');
    return this.#next(splitBegin(whole, this.#place));
  }

  rest(response: ParsedResponse): TextDelta {
    return this.#next(response);
  }

  #next({ content, reasoning }: Pick<ParsedResponse, 'content' | 'reasoning'>): TextDelta {
    const { content: said, reasoning: thought } = this.#shown;
    const delta = { content: afterStart(content ?? '', said), reasoning: afterStart(reasoning ?? '', thought) };
    this.#shown = { content: said + delta.content, reasoning: thought + delta.reasoning };
    return delta;
  }
}

/** What follows the start of a text; empty for a text with another start. */
function afterStart(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : '';
}

function maxTokensOf(request: ChatRequest, promptLength: number, { maxContext }: ModelText): number {
  const wanted = request.max_completion_tokens ?? request.max_tokens ?? defaultMaxTokens;
  if (maxContext === null) return wanted;
  if (promptLength >= maxContext) throw new ContextLengthError(promptLength, maxContext);
  return Math.min(wanted, maxContext - promptLength);
}

/** Servers hold seeds in 31 bits. */
function seedsOf(request: ChatRequest): readonly number[] {
  return choiceSeeds(request).map((seed) => (seed ?? randomInt(2 ** 31)) % 2 ** 31);
}
