import { randomInt } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import {
  type ChatRequest,
  type ChatSampling,
  type ChatTool,
  ContextLengthError,
  type ParsedResponse,
  type SampledResponse,
  type SamplingResponse,
  type TextStream,
  type TokenChoice,
} from '@agentlightning/runtime/serving';
import type { ModelText } from '../text/model-text.ts';
import type { SampledSequence, SampleRequest } from '../wire/sample-messages.ts';

/** What samples from one version of the weights. */
export interface ChatSampler {
  readonly text: ModelText;
  readonly policyVersion: number;
  readonly sample: (request: SampleRequest) => Promise<SampledSequence>;
}

/** Default maximum length of a response, in tokens. */
const defaultMaxTokens = 1024;

/** Starts the responses to a request. The server samples whole responses, so that a stream begins when a response has ended. */
export function startChat(sampler: ChatSampler, request: ChatRequest, signal: AbortSignal): ChatSampling {
  const { text, policyVersion } = sampler;
  const tools = offeredTools(request);
  const conversation = { messages: request.messages, tools, variables: request.chat_template_kwargs };
  const promptTokens = request.prompt_token_ids ?? text.render(conversation);
  const { temperature, top_p: topP } = request;
  const sample = {
    promptTokens,
    maxTokens: maxTokensOf(request, promptTokens.length, text),
    temperature: temperature ?? 1,
    topP: topP ?? 1,
    vocabularySize: text.vocabularySize,
    stopTokens: text.endTokens,
  };
  const stops = stopTexts(request.stop);
  const responses = choiceSeeds(request).map((seed) =>
    responseOf(sampler.sample({ ...sample, seed }), { text, stops, signal, sample }),
  );
  return {
    promptTokens,
    policyVersion,
    responses,
    read: (response) => readResponse(response, text),
    streamText: () => new StreamedText(text, stops.length > 0 || tools.length > 0),
    tokenText: (token) => {
      const written = text.decode([token]);
      return { text: written, bytes: [...Buffer.from(written)] };
    },
  };
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
  const cut = stops.length === 0 ? null : firstStop(tokens, text, stops);
  const length = cut?.length ?? tokens.length;
  const choices = tokens.slice(0, length).map((token, at) => ({ token, logprob: logprobs[at] ?? 0, top: [] }));
  return {
    promptTokens: sample.promptTokens,
    choices,
    finishReason: cut === null ? stopReason : 'stop',
    cachedTokens: 0,
    // The log-probabilities are those of the model, not of the distribution that was sampled from.
    hasLogprobs: sample.temperature === 1 && sample.topP === 1,
    ...(cut === null ? {} : { stopString: cut.stop }),
  };
}

function firstStop(
  tokens: readonly number[],
  text: ModelText,
  stops: readonly string[],
): { readonly length: number; readonly stop: string } | null {
  for (let length = 1; length <= tokens.length; length += 1) {
    const written = text.decode(tokens.slice(0, length));
    const stop = stops.find((candidate) => written.includes(candidate));
    if (stop !== undefined) return { length, stop };
  }
  return null;
}

function readResponse(response: SampledResponse, text: ModelText): ParsedResponse {
  const { finishReason } = response;
  return { content: contentOf(response, text), toolCalls: [], finishReason };
}

/** The text of a response without the token that ends it, up to the stop text. */
function contentOf({ choices, stopString }: SampledResponse, text: ModelText): string {
  const tokens = choices.map(({ token }) => token);
  const body = text.endTokens.includes(tokens.at(-1) ?? -1) ? tokens.slice(0, -1) : tokens;
  const written = text.decode(body);
  return stopString === undefined ? written : written.slice(0, written.indexOf(stopString));
}

/** The text of a response, token by token, without broken characters. */
class StreamedText implements TextStream {
  readonly #text: ModelText;
  readonly #isHeldBack: boolean;
  readonly #tokens: number[] = [];
  #shown = '';

  constructor(text: ModelText, isHeldBack: boolean) {
    this.#text = text;
    this.#isHeldBack = isHeldBack;
  }

  take(token: number): string {
    if (this.#isHeldBack || this.#text.endTokens.includes(token)) return '';
    this.#tokens.push(token);
    const whole = this.#text.decode(this.#tokens).replace(/\uFFFD+$/u, '');
    if (!whole.startsWith(this.#shown)) return '';
    const next = whole.slice(this.#shown.length);
    this.#shown = whole;
    return next;
  }

  rest(text: string): string {
    return text.startsWith(this.#shown) ? text.slice(this.#shown.length) : '';
  }
}

/** `tool_choice: "none"` removes the tools; sampling cannot guarantee a forced tool. */
export function offeredTools({
  tools,
  tool_choice: choice,
}: Pick<ChatRequest, 'tools' | 'tool_choice'>): readonly ChatTool[] {
  if (choice === 'none') return [];
  if (choice === undefined || choice === null || choice === 'auto') return tools ?? [];
  throw new AgentLightningError({
    code: 'RUNTIME_REJECTED',
    message: `tool_choice is ${JSON.stringify(choice)}; it must be "auto" or "none", a Tinker server cannot force a call`,
    details: { field: 'tool_choice' },
  });
}

function maxTokensOf(request: ChatRequest, promptLength: number, { maxContext }: ModelText): number {
  const wanted = request.max_completion_tokens ?? request.max_tokens ?? defaultMaxTokens;
  if (maxContext === null) return wanted;
  if (promptLength >= maxContext) throw new ContextLengthError(promptLength, maxContext);
  return Math.min(wanted, maxContext - promptLength);
}

/** Choices of one request have different seeds, also when the request sets one. */
function choiceSeeds({ seed, n }: ChatRequest): readonly number[] {
  const first = seed ?? randomInt(2 ** 31);
  // Servers hold seeds in 31 bits.
  return Array.from({ length: n ?? 1 }, (_, index) => ((Math.imul(index, 0x9e3779b1) + first) >>> 0) % 2 ** 31);
}

function stopTexts(stop: ChatRequest['stop']): readonly string[] {
  const texts = typeof stop === 'string' ? [stop] : (stop ?? []);
  return texts.filter((each) => each !== '');
}
