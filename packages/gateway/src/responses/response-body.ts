import type { JsonObject } from '@agentlightning/core';
import { type NewCallId, partsOfMessage } from '../response-parts/parts-of-message.ts';
import { firstChoice, ResponseEnd } from '../response-parts/response-end.ts';
import { isJsonList, numberOf, objectOf, textOf } from '../wire/json-access.ts';
import { type OutputOptions, outputItem } from './output-item.ts';
import { responseId } from './response-ids.ts';
import { renamedTools } from './tools.ts';

/** Options of {@link responseOf}. */
export interface ResponseOptions {
  /** The translated request. */
  readonly request: JsonObject;
  /** 32 hex digits, unique to the response; part of its id and those of its items. */
  readonly stem: string;
}

/** Converts a whole Chat Completions body to Responses. */
export function responseOf(body: JsonObject, options: ResponseOptions): JsonObject {
  const end = new ResponseEnd();
  end.add(body);
  const choice = firstChoice(body);
  const parts = partsOfMessage(objectOf(choice.message), newCallIdOf(options.stem));
  const pieces = parts.length > 0 ? parts : [{ kind: 'text' as const, text: '' }];
  const { content } = objectOf(choice.logprobs);
  const logprobs = wantsLogprobs(options.request) && isJsonList(content) ? content : [];
  const outputOptions = outputOptionsOf(options);
  const output = pieces.map((part, index) =>
    // Only the last part can be incomplete.
    outputItem(part, {
      ...outputOptions,
      logprobs,
      index,
      isTruncated: isTruncated(end) && index === pieces.length - 1,
    }),
  );
  return endedResponse(responseHead(body, options), output, end);
}

/** Optional fields that a response repeats from its request. Without a value they are left out: strict clients reject null. */
const repeatedFields: readonly string[] = [
  'max_output_tokens',
  'max_tool_calls',
  'previous_response_id',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'user',
];

/** The response before any output, from the first chunk or a whole body. */
export function responseHead(body: JsonObject, { request, stem }: ResponseOptions): JsonObject {
  const { metadata, tools, tool_choice: toolChoice, text, reasoning } = request;
  const repeated = repeatedFields.filter((name) => request[name] !== undefined && request[name] !== null);
  const given = (name: string): JsonObject[string] => request[name] ?? null;
  return {
    id: responseId(stem),
    object: 'response',
    created_at: numberOf(body.created) ?? 0,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: given('instructions'),
    metadata: metadata ?? {},
    model: textOf(body.model) ?? textOf(request.model) ?? '',
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    reasoning: { effort: null, summary: null, ...objectOf(reasoning) },
    service_tier: textOf(body.service_tier) ?? 'default',
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { format: { type: 'text' }, ...objectOf(text) },
    tool_choice: toolChoice ?? 'auto',
    tools: tools ?? [],
    top_p: request.top_p ?? 1,
    truncation: 'disabled',
    ...Object.fromEntries(repeated.map((name) => [name, given(name)])),
  };
}

/** The response after its end. */
export function endedResponse(head: JsonObject, output: readonly JsonObject[], end: ResponseEnd): JsonObject {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = end.usage;
  const reason = incompleteReason(end);
  return {
    ...head,
    status: reason === null ? 'completed' : 'incomplete',
    incomplete_details: reason === null ? null : { reason },
    output,
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    },
  };
}

/** Whether the response is incomplete. */
export function isTruncated(end: ResponseEnd): boolean {
  return incompleteReason(end) !== null;
}

/** The options of output items that the request determines. */
export function outputOptionsOf({
  request,
  stem,
}: ResponseOptions): Pick<OutputOptions, 'stem' | 'isSealed' | 'tools'> {
  return { stem, tools: renamedTools(request), isSealed: includes(request, 'reasoning.encrypted_content') };
}

/** Whether the client requested log-probabilities. */
export function wantsLogprobs(request: JsonObject): boolean {
  return includes(request, 'message.output_text.logprobs');
}

function includes({ include }: JsonObject, what: string): boolean {
  return isJsonList(include) && include.includes(what);
}

/** Generates ids for tool calls without one. */
export function newCallIdOf(stem: string): NewCallId {
  return (index) => `call_${stem.slice(0, 20)}_${index}`;
}

function incompleteReason({ finishReason }: ResponseEnd): string | null {
  if (finishReason === 'length') return 'max_output_tokens';
  return finishReason === 'content_filter' ? finishReason : null;
}
