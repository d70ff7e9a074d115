import type { JsonObject } from '../base/json.ts';
import { objectsOf } from '../base/json-access.ts';
import type { PreparedResponse } from './scripted-model-response.ts';

/** An output item of a response, and its stream events between start and end. */
interface OutputItem {
  readonly whole: JsonObject;
  readonly begun: JsonObject;
  readonly events: readonly JsonObject[];
}

/** Body of a non-streamed Responses response. */
export function responseBody(prepared: PreparedResponse): JsonObject {
  return { ...responseHead(prepared), ...responseEnd(prepared) };
}

/** Events of a streamed Responses response, in OpenAI's order. */
export function responseEvents(prepared: PreparedResponse): readonly JsonObject[] {
  const head = { ...responseHead(prepared), status: 'in_progress', output: [], usage: null };
  const isCut = prepared.finishReason === 'length';
  const items = outputItems(prepared).flatMap(({ whole, begun, events }, index) => [
    { type: 'response.output_item.added', output_index: index, item: begun },
    ...events.map((event) => ({ ...event, item_id: whole.id ?? null, output_index: index })),
    { type: 'response.output_item.done', output_index: index, item: whole },
  ]);
  return [
    { type: 'response.created', response: head },
    { type: 'response.in_progress', response: head },
    ...items,
    { type: isCut ? 'response.incomplete' : 'response.completed', response: responseBody(prepared) },
  ].map((event, index) => ({ ...event, sequence_number: index }));
}

function responseHead({ index, call }: PreparedResponse): JsonObject {
  return {
    id: `resp_${index}`,
    object: 'response',
    created_at: 1_700_000_000,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: call.model,
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
  };
}

function responseEnd(prepared: PreparedResponse): JsonObject {
  const inputTokens = prepared.promptTokenIds.length;
  const outputTokens = prepared.tokens.length;
  const isCut = prepared.finishReason === 'length';
  return {
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: outputItems(prepared).map(({ whole }) => whole),
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + outputTokens,
    },
  };
}

function outputItems(prepared: PreparedResponse): readonly OutputItem[] {
  const { index, content, reasoning, toolCalls } = prepared;
  return [
    ...(reasoning === null ? [] : [reasoningItem(`rs_${index}`, reasoning)]),
    ...(content === '' && toolCalls.length > 0 ? [] : [messageItem(`msg_${index}`, content)]),
    ...toolCalls.map(({ id, function: target }, position) => {
      const whole = { id: `fc_${index}_${position}`, type: 'function_call', call_id: id, ...target };
      return {
        whole: { ...whole, status: 'completed' },
        begun: { ...whole, arguments: '', status: 'in_progress' },
        events: [
          { type: 'response.function_call_arguments.delta', delta: target.arguments },
          { type: 'response.function_call_arguments.done', name: target.name, arguments: target.arguments },
        ],
      };
    }),
  ];
}

function messageItem(id: string, text: string): OutputItem {
  const part = { type: 'output_text', text, annotations: [], logprobs: [] };
  const message = { id, type: 'message', role: 'assistant' };
  const at = { content_index: 0 };
  return {
    whole: { ...message, status: 'completed', content: [part] },
    begun: { ...message, status: 'in_progress', content: [] },
    events: [
      { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
      ...words(text).map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
      { type: 'response.output_text.done', ...at, text, logprobs: [] },
      { type: 'response.content_part.done', ...at, part },
    ],
  };
}

function reasoningItem(id: string, text: string): OutputItem {
  const part = { type: 'summary_text', text };
  const at = { summary_index: 0 };
  return {
    whole: { id, type: 'reasoning', summary: [part] },
    begun: { id, type: 'reasoning', summary: [] },
    events: [
      { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
      { type: 'response.reasoning_summary_text.delta', ...at, delta: text },
      { type: 'response.reasoning_summary_text.done', ...at, text },
      { type: 'response.reasoning_summary_part.done', ...at, part },
    ],
  };
}

/** Splits text into words with their trailing space, one per delta. */
function words(text: string): readonly string[] {
  return text.match(/\S*\s+|\S+$/g) ?? [];
}

/** An error event within a stream of the Responses API. */
export function responseErrorEvent(events: readonly JsonObject[]): JsonObject {
  return {
    type: 'error',
    code: 'server_error',
    message: 'scripted stream error',
    param: null,
    sequence_number: objectsOf(events).length,
  };
}
