import type { JsonObject, JsonValue } from '../base/json.ts';
import { objectsOf, textOf } from '../base/json-access.ts';
import { toGenAiMessages } from './gen-ai-messages.ts';

/**
 * Converts the input of a Responses request to OpenTelemetry's GenAI conventions.
 *
 * @param request - the body; its `instructions` become a system message
 */
export function toGenAiResponseInput(request: JsonObject): readonly JsonObject[] {
  const { input, instructions } = request;
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : objectsOf(input);
  const system = typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : [];
  return toGenAiMessages([...system, ...items.flatMap(chatMessage)]);
}

/**
 * Converts the output of a Responses body to OpenTelemetry's GenAI conventions: one message with all its parts.
 *
 * @param output - the body's `output`
 */
export function toGenAiResponseOutput(output: JsonValue | undefined): readonly JsonObject[] {
  const messages = toGenAiMessages(objectsOf(output).flatMap(chatMessage));
  if (messages.length === 0) return [];
  return [{ role: 'assistant', parts: messages.flatMap(({ parts }) => objectsOf(parts)) }];
}

/** A Responses item as a Chat Completions message; empty for items without an equivalent. */
function chatMessage(item: JsonObject): readonly JsonObject[] {
  switch (item.type) {
    case 'function_call':
      return [{ role: 'assistant', tool_calls: [{ id: item.call_id ?? item.id ?? null, function: item }] }];
    case 'function_call_output':
      return [{ role: 'tool', tool_call_id: item.call_id ?? null, content: item.output ?? null }];
    case 'reasoning':
      return [{ role: 'assistant', reasoning_content: reasoningText(item) }];
    case 'message':
    case undefined:
      return [{ ...item, content: chatContent(item.content) }];
    default:
      return [];
  }
}

function reasoningText(item: JsonObject): string {
  return [...objectsOf(item.content), ...objectsOf(item.summary)].map((part) => textOf(part.text) ?? '').join('\n');
}

function chatContent(content: JsonValue | undefined): JsonValue {
  if (!Array.isArray(content)) return content ?? null;
  return objectsOf(content).map((part) => {
    if (typeof part.text === 'string') return { type: 'text', text: part.text };
    if (typeof part.image_url === 'string') return { type: 'image_url', image_url: { url: part.image_url } };
    return { type: part.type ?? 'unknown' };
  });
}
