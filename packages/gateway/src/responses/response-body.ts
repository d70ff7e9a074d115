import type { JsonObject } from '@agentlightning/core';
import { AnswerEnd, firstChoice } from '../answer-parts/answer-end.ts';
import { type NewCallId, partsOfMessage } from '../answer-parts/parts-of-message.ts';
import { isJsonList, numberOf, objectOf, textOf } from '../http/json-access.ts';
import { type OutputOptions, outputItem } from './output-item.ts';
import { responseId } from './response-ids.ts';

/** What an answer in the form of Responses is made with. */
export interface ResponseOptions {
  /** The request that it answers. */
  readonly request: JsonObject;
  /** 32 hex digits of its own, in its id and those of its items. */
  readonly stem: string;
}

/** A whole Chat Completions body in the form of Responses. */
export function responseOf(body: JsonObject, options: ResponseOptions): JsonObject {
  const end = new AnswerEnd();
  end.add(body);
  const choice = firstChoice(body);
  const parts = partsOfMessage(objectOf(choice.message), newCallIdOf(options.stem));
  const pieces = parts.length > 0 ? parts : [{ kind: 'text' as const, text: '' }];
  const { content } = objectOf(choice.logprobs);
  const logprobs = wantsLogprobs(options.request) && isJsonList(content) ? content : [];
  const output = pieces.map((part, index) =>
    // What came before the last piece is whole.
    outputItem(part, {
      ...outputOptionsOf(options),
      logprobs,
      index,
      isCut: isCut(end) && index === pieces.length - 1,
    }),
  );
  return endedResponse(responseHead(body, options), output, end);
}

/** What a response says before anything of its answer has come, by the first chunk or a whole body. */
export function responseHead(body: JsonObject, { request, stem }: ResponseOptions): JsonObject {
  const { metadata, tools, tool_choice: toolChoice, text, reasoning } = request;
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
    max_output_tokens: given('max_output_tokens'),
    metadata: metadata ?? {},
    model: textOf(body.model) ?? textOf(request.model) ?? '',
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: given('previous_response_id'),
    reasoning: { effort: null, summary: null, ...objectOf(reasoning) },
    service_tier: 'default',
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { format: { type: 'text' }, ...objectOf(text) },
    tool_choice: toolChoice ?? 'auto',
    tools: tools ?? [],
    top_p: request.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    user: given('user'),
  };
}

/** The response when its answer has ended. */
export function endedResponse(head: JsonObject, output: readonly JsonObject[], end: AnswerEnd): JsonObject {
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens } = end.usage;
  const reason = incompleteReason(end);
  return {
    ...head,
    status: reason === null ? 'completed' : 'incomplete',
    incomplete_details: reason === null ? null : { reason },
    output,
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    },
  };
}

/** Whether the answer stops before its end. */
export function isCut(end: AnswerEnd): boolean {
  return incompleteReason(end) !== null;
}

/** What of a request decides how items look. */
export function outputOptionsOf({ request, stem }: ResponseOptions): Pick<OutputOptions, 'stem' | 'isSealed'> {
  return { stem, isSealed: includes(request, 'reasoning.encrypted_content') };
}

/** Whether the client asked for log-probabilities. */
export function wantsLogprobs(request: JsonObject): boolean {
  return includes(request, 'message.output_text.logprobs');
}

function includes({ include }: JsonObject, what: string): boolean {
  return isJsonList(include) && include.includes(what);
}

/** Ids for calls that the engine left without one. */
export function newCallIdOf(stem: string): NewCallId {
  return (index) => `call_${stem.slice(0, 20)}_${index}`;
}

function incompleteReason({ finishReason }: AnswerEnd): string | null {
  if (finishReason === 'length') return 'max_output_tokens';
  return finishReason === 'content_filter' ? finishReason : null;
}
