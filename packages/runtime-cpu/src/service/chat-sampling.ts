import {
  type ChatRequest,
  type ChatSampling,
  type ChatTool,
  choiceSeeds,
  offeredTools,
  type ParsedResponse,
  type SampledResponse,
  stopTexts,
} from '@agentlightning/runtime/internal/serving';
import type { ModelEngine } from '../model-engine.ts';
import type { SampleRequest } from '../sampling/sample-request.ts';
import { renderPrompt, renderResponse } from '../text/chat-template.ts';
import { parseResponse } from '../text/response-parser.ts';
import { decodeTokens } from '../text/tokenizer.ts';
import { StreamedText } from './streamed-text.ts';

/** Default maximum length of a response, in tokens. */
const defaultMaxTokens = 64;

/** Starts sampling the responses to a request; they are cancelled when the signal aborts. */
export function startChatSampling(engine: ModelEngine, request: ChatRequest, signal: AbortSignal): ChatSampling {
  const tools = offeredTools(request);
  const stops = stopTexts(request);
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
  const responses = seeds.map((seed) => engine.sample(seed === null ? sample : { ...sample, seed }));
  return {
    promptTokens,
    policyVersion: engine.weightVersion,
    responses,
    read: (response, callIdPrefix) => readResponse(response, tools, callIdPrefix),
    streamText: () => new StreamedText(stops),
    tokenText,
  };
}

/** Parses a response as an assistant message; the stop text and everything after it are cut off. */
function readResponse(result: SampledResponse, tools: readonly ChatTool[], callIdPrefix: string): ParsedResponse {
  const tokens = result.choices.map(({ token }) => token);
  const parsed = parseResponse(tokens, { tools, finishReason: result.finishReason, callIdPrefix });
  const { content } = parsed;
  const end = result.stopString === undefined ? -1 : (content?.indexOf(result.stopString) ?? -1);
  return end < 0 || content === null ? parsed : { ...parsed, content: content.slice(0, end) };
}

function tokenText(token: number): ReturnType<ChatSampling['tokenText']> {
  const text = decodeTokens([token]);
  return { text, bytes: token < 256 ? [token] : [...Buffer.from(text)] };
}
