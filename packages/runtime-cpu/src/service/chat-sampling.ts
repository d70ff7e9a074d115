import { RejectedRequestError } from '../errors/rejected-request-error.ts';
import type { Generation } from '../sampling/generation.ts';
import type { SampleRequest } from '../sampling/sample-request.ts';
import type { ChatTool } from '../text/chat-message.ts';
import { renderPrompt, renderResponse } from '../text/chat-template.ts';
import type { ChatRequest } from './chat-request.ts';
import type { CpuModel } from './cpu-model.ts';

/** The responses to one request, in progress. */
export interface ChatSampling {
  readonly promptTokens: readonly number[];
  readonly tools: readonly ChatTool[];
  /** Texts that end a response. */
  readonly stops: readonly string[];
  /** One for each choice, at least one. */
  readonly generations: readonly Generation[];
  /** The version of the weights of all of them. */
  readonly weightVersion: number;
}

/** Default maximum length of a response, in tokens. */
const defaultMaxTokens = 64;

/** Starts sampling the responses to a request; they are cancelled when the signal aborts. */
export function startChatSampling(model: CpuModel, request: ChatRequest, signal: AbortSignal): ChatSampling {
  const { engine } = model;
  const tools = offeredTools(request);
  const stops = request.forced_message ? [] : stopTexts(request.stop);
  const promptTokens = request.prompt_token_ids ?? renderPrompt(request.messages, tools);
  const forcedTokens = request.forced_message ? renderResponse(request.forced_message, tools) : undefined;
  const sample: SampleRequest = {
    promptTokens,
    maxTokens: forcedTokens?.length ?? request.max_completion_tokens ?? request.max_tokens ?? defaultMaxTokens,
    ...(forcedTokens && { forcedTokens }),
    temperature: request.temperature ?? 1,
    topP: request.top_p ?? 1,
    topLogprobs: request.top_logprobs ?? 0,
    stop: stops,
    signal,
  };
  const seeds = choiceSeeds(request);
  const generations = seeds.map((seed) => engine.sample(seed === null ? sample : { ...sample, seed }));
  return { promptTokens, tools, stops, generations, weightVersion: engine.weightVersion };
}

/** `tool_choice: "none"` removes the tools; sampling cannot guarantee a forced tool. */
export function offeredTools({
  tools,
  tool_choice: choice,
}: Pick<ChatRequest, 'tools' | 'tool_choice'>): readonly ChatTool[] {
  if (choice === 'none') return [];
  if (choice !== undefined && choice !== null && choice !== 'auto') {
    throw new RejectedRequestError(
      `tool_choice is ${JSON.stringify(choice)}; it must be "auto" or "none", the embedded model cannot be forced`,
      { field: 'tool_choice' },
    );
  }
  return (tools ?? []).map(({ type, function: { name, parameters } }) => ({
    type,
    function: { name, ...(parameters === undefined ? {} : { parameters: { properties: parameters.properties } }) },
  }));
}

/** Choices of one request have different seeds, also when the request sets one. */
function choiceSeeds({ seed, n }: ChatRequest): readonly (number | null)[] {
  return Array.from({ length: n ?? 1 }, (_, index) =>
    seed === null || seed === undefined ? null : (Math.imul(index, 0x9e3779b1) + seed) >>> 0,
  );
}

function stopTexts(stop: ChatRequest['stop']): readonly string[] {
  const texts = typeof stop === 'string' ? [stop] : (stop ?? []);
  return texts.filter((text) => text !== '');
}
