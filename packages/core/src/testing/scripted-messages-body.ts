import type { JsonObject, JsonValue } from '../base/json.ts';
import { parseObject } from '../base/json-access.ts';
import type { PreparedResponse } from './scripted-model-response.ts';

/** A content block, as it starts, and the deltas that complete it. */
interface ContentBlock {
  readonly whole: JsonObject;
  readonly begun: JsonObject;
  readonly deltas: readonly JsonObject[];
}

/** Body of a non-streamed Messages response. */
export function messageBody(prepared: PreparedResponse): JsonObject {
  return {
    ...messageHead(prepared),
    content: contentBlocks(prepared).map(({ whole }) => whole),
    stop_reason: stopReason(prepared),
    usage: { ...inputUsage(prepared), output_tokens: prepared.tokens.length },
  };
}

/** Events of a streamed Messages response, in Anthropic's order. */
export function messageEvents(prepared: PreparedResponse): readonly JsonObject[] {
  const blocks = contentBlocks(prepared).flatMap(({ begun, deltas }, index) => [
    { type: 'content_block_start', index, content_block: begun },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]);
  return [
    { type: 'message_start', message: messageHead(prepared) },
    ...blocks,
    {
      type: 'message_delta',
      delta: { stop_reason: stopReason(prepared), stop_sequence: null },
      usage: { output_tokens: prepared.tokens.length },
    },
    { type: 'message_stop' },
  ];
}

/** An error event within a stream of the Messages API. */
export function messageErrorEvent(): JsonObject {
  return { type: 'error', error: { type: 'api_error', message: 'scripted stream error' } };
}

function messageHead(prepared: PreparedResponse): JsonObject {
  return {
    id: `msg_${prepared.index}`,
    type: 'message',
    role: 'assistant',
    model: prepared.call.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...inputUsage(prepared), output_tokens: 1 },
  };
}

function inputUsage({ promptTokenIds }: PreparedResponse): JsonObject {
  return { input_tokens: promptTokenIds.length, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
}

function stopReason({ finishReason }: PreparedResponse): string {
  const reasons: Readonly<Record<string, string>> = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' };
  return reasons[finishReason] ?? finishReason;
}

function contentBlocks({ content, reasoning, toolCalls }: PreparedResponse): readonly ContentBlock[] {
  return [
    ...(reasoning === null ? [] : [thinkingBlock(reasoning)]),
    ...(content === '' && toolCalls.length > 0 ? [] : [textBlock(content)]),
    ...toolCalls.map(({ id, function: { name, arguments: text } }): ContentBlock => {
      const input: JsonValue = parseObject(text) ?? {};
      const begun = { type: 'tool_use', id, name, input: {} };
      return { whole: { ...begun, input }, begun, deltas: [{ type: 'input_json_delta', partial_json: text }] };
    }),
  ];
}

function textBlock(text: string): ContentBlock {
  const words = text.match(/\S*\s+|\S+$/g) ?? [];
  return {
    whole: { type: 'text', text },
    begun: { type: 'text', text: '' },
    deltas: words.map((word) => ({ type: 'text_delta', text: word })),
  };
}

function thinkingBlock(thinking: string): ContentBlock {
  const signature = 'c2NyaXB0ZWQ=';
  return {
    whole: { type: 'thinking', thinking, signature },
    begun: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ],
  };
}
