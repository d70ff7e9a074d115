import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ScriptedCall } from './scripted-model-request.ts';
import type { ScriptedResponse } from './scripted-model-step.ts';
import {
  promptTokenIds,
  responseTokens,
  type ScriptedToken,
  tokensText,
  toolCallText,
} from './scripted-model-tokens.ts';

/** A tool call in the form of the API. */
interface ToolCallBody {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** All data of a response, streamed or not. */
export interface PreparedResponse {
  readonly call: ScriptedCall;
  /** Index of the request. */
  readonly index: number;
  readonly id: string;
  readonly content: string;
  readonly reasoning: string | null;
  readonly toolCalls: readonly ToolCallBody[];
  readonly promptTokenIds: readonly number[];
  /** Tokens of the text, followed by those of the tool calls. */
  readonly tokens: readonly ScriptedToken[];
  /** Number of tokens of the text. */
  readonly contentTokens: number;
  readonly finishReason: string;
  readonly hasTokenIds: boolean;
}

const created = 1_700_000_000;

/** Computes tokens, limits and ids of a response. */
export function prepareResponse(step: ScriptedResponse, call: ScriptedCall, index: number): PreparedResponse {
  const toolCalls = (step.toolCalls ?? []).map((toolCall, position) => ({
    id: toolCall.id ?? `call_${index}_${position}`,
    type: 'function' as const,
    function: {
      name: toolCall.name,
      arguments: typeof toolCall.arguments === 'string' ? toolCall.arguments : JSON.stringify(toolCall.arguments),
    },
  }));
  const text = step.content ?? '';
  const callsText = toolCalls.map(({ function: target }) => toolCallText(target.name, target.arguments)).join('');
  const all = responseTokens(text + callsText);
  const tokens = all.slice(0, call.maxTokens);
  const isCut = tokens.length < all.length;
  const contentTokens = Math.min(tokens.length, responseTokens(text).length - 1);
  return {
    call,
    index,
    id: `chatcmpl-${index}`,
    content: tokensText(tokens.slice(0, contentTokens)),
    reasoning: step.reasoning ?? null,
    toolCalls: isCut ? [] : toolCalls,
    promptTokenIds: promptTokenIds(call.messages),
    tokens,
    contentTokens,
    finishReason: step.finishReason ?? (isCut ? 'length' : toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    hasTokenIds: call.returnTokenIds && !step.withoutTokenIds,
  };
}

/** Body of a non-streamed response. */
export function completionBody(prepared: PreparedResponse): JsonObject {
  const { call, tokens, toolCalls } = prepared;
  const choice = (index: number): JsonObject => ({
    index,
    message: {
      role: 'assistant',
      content: prepared.content === '' && toolCalls.length > 0 ? null : prepared.content,
      ...(prepared.reasoning === null ? {} : { reasoning_content: prepared.reasoning }),
      ...(toolCalls.length > 0 ? { tool_calls: toolCalls.map(toolCallJson) } : {}),
    },
    logprobs: call.logprobs ? logprobsJson(tokens) : null,
    finish_reason: prepared.finishReason,
    ...(prepared.hasTokenIds ? { token_ids: tokens.map((token) => token.id) } : {}),
  });
  return {
    id: prepared.id,
    object: 'chat.completion',
    created,
    model: call.model,
    choices: Array.from({ length: call.choices }, (_, index) => choice(index)),
    usage: usageJson(prepared),
    ...(prepared.hasTokenIds ? { prompt_token_ids: prepared.promptTokenIds } : {}),
  };
}

/** Chunks of a streamed response in the form of vLLM, without the final `[DONE]`. */
export function completionChunks(prepared: PreparedResponse): readonly JsonObject[] {
  const { call } = prepared;
  const base = { id: prepared.id, object: 'chat.completion.chunk', created, model: call.model };
  const perChoice = Array.from({ length: call.choices }, (_, index) => choiceDeltas(prepared, index));
  const [first, ...rest] = perChoice.flat();
  return [
    ...(first === undefined
      ? []
      : [
          { ...base, choices: [first], ...(prepared.hasTokenIds ? { prompt_token_ids: prepared.promptTokenIds } : {}) },
        ]),
    ...rest.map((choice) => ({ ...base, choices: [choice] })),
    ...(call.includeUsage ? [{ ...base, choices: [], usage: usageJson(prepared) }] : []),
  ];
}

function choiceDeltas(prepared: PreparedResponse, index: number): readonly JsonObject[] {
  const { tokens, contentTokens, reasoning, toolCalls } = prepared;
  const plain = (delta: JsonObject): JsonObject => ({ index, delta, logprobs: null, finish_reason: null });
  const withTokens = (delta: JsonObject, own: readonly ScriptedToken[]): JsonObject => ({
    ...plain(delta),
    logprobs: prepared.call.logprobs ? logprobsJson(own) : null,
    ...(prepared.hasTokenIds ? { token_ids: own.map((token) => token.id) } : {}),
  });
  const words = inWords(tokens.slice(0, contentTokens));
  const rest = tokens.slice(contentTokens);
  return [
    plain({ role: 'assistant', content: '' }),
    ...(reasoning === null ? [] : [plain({ reasoning_content: reasoning })]),
    ...words.map((word) => withTokens({ content: tokensText(word) }, word)),
    ...toolCalls.map(({ id, type, function: { name } }, position) =>
      plain({ tool_calls: [{ index: position, id, type, function: { name, arguments: '' } }] }),
    ),
    ...toolCalls.map(({ function: target }, position) =>
      plain({ tool_calls: [{ index: position, function: { arguments: target.arguments } }] }),
    ),
    { ...withTokens({}, rest), finish_reason: prepared.finishReason },
  ];
}

/** Splits tokens into words with their trailing space, one per chunk. */
function inWords(tokens: readonly ScriptedToken[]): readonly (readonly ScriptedToken[])[] {
  const words: ScriptedToken[][] = [];
  let isOpen = false;
  for (const token of tokens) {
    const word = isOpen ? words.at(-1) : undefined;
    if (word === undefined) words.push([token]);
    else word.push(token);
    isOpen = token.text !== ' ';
  }
  return words;
}

function toolCallJson(call: ToolCallBody): JsonObject {
  return { id: call.id, type: call.type, function: { ...call.function } };
}

function logprobsJson(tokens: readonly ScriptedToken[]): JsonValue {
  return {
    content: tokens.map((token) => ({
      token: token.text,
      logprob: token.logprob,
      bytes: token.id < 256 ? [token.id] : null,
      top_logprobs: [],
    })),
  };
}

function usageJson(prepared: PreparedResponse): JsonObject {
  const prompt = prepared.promptTokenIds.length;
  const completion = prepared.tokens.length * prepared.call.choices;
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
