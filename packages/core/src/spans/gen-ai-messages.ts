import type { JsonObject, JsonValue } from '../base/json.ts';
import { isList, isObject, objectsOf } from '../base/json-access.ts';

/**
 * Converts chat messages of OpenAI or Anthropic to OpenTelemetry's GenAI conventions: `role` and a list of `parts`
 * (`text`, `reasoning`, `tool_call`, `tool_call_response`, `uri`, `blob`).
 *
 * Inline images (`data:` URLs) are referenced without their content, which the request body contains.
 *
 * @param messages - the `messages` of a Chat Completions request, or the `message` of its choices
 * @returns one entry per message; other values are omitted
 * @see https://github.com/open-telemetry/semantic-conventions-genai
 */
export function toGenAiMessages(messages: JsonValue | undefined): readonly JsonObject[] {
  return objectsOf(messages).map(toGenAiMessage);
}

/**
 * Converts the output of Chat Completions, Completions or Anthropic Messages to OpenTelemetry's GenAI conventions.
 *
 * @param response - the body as the agent received it
 */
export function toGenAiOutputMessages(response: JsonObject): readonly JsonObject[] {
  if (!isList(response.choices)) {
    return isList(response.content)
      ? [{ ...toGenAiMessage(response), finish_reason: response.stop_reason ?? null }]
      : [];
  }
  return objectsOf(response.choices).map((choice) => ({
    ...toGenAiMessage(isObject(choice.message) ? choice.message : { content: choice.text ?? null }),
    finish_reason: choice.finish_reason ?? null,
  }));
}

function toGenAiMessage(message: JsonObject): JsonObject {
  const role = typeof message.role === 'string' ? message.role : 'assistant';
  if (role === 'tool') {
    return {
      role,
      parts: [
        {
          type: 'tool_call_response',
          id: message.tool_call_id ?? null,
          response: message.content ?? null,
        },
      ],
    };
  }
  const reasoning = message.reasoning_content ?? message.reasoning;
  return {
    role,
    parts: [
      ...(typeof reasoning === 'string' ? [{ type: 'reasoning', content: reasoning }] : []),
      ...contentParts(message.content),
      ...objectsOf(message.tool_calls).map(toolCallPart),
    ],
  };
}

function contentParts(content: JsonValue | undefined): readonly JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', content }];
  // A single part without an enclosing list, which some servers accept.
  return (isObject(content) ? [content] : objectsOf(content)).map(contentPart);
}

function contentPart(part: JsonObject): JsonObject {
  switch (part.type) {
    case 'text':
      return { type: 'text', content: part.text ?? '' };
    case 'thinking':
      return { type: 'reasoning', content: part.thinking ?? '' };
    case 'tool_use':
      return { type: 'tool_call', id: part.id ?? null, name: part.name ?? null, arguments: part.input ?? null };
    case 'tool_result':
      return { type: 'tool_call_response', id: part.tool_use_id ?? null, response: part.content ?? null };
    default:
      return imagePart(part);
  }
}

/** An image of OpenAI's `image_url` or Anthropic's `source`; for other parts only the type. */
function imagePart(part: JsonObject): JsonObject {
  const source = isObject(part.source) ? part.source : {};
  if (source.type === 'base64') return { type: 'blob', modality: 'image', mime_type: source.media_type ?? '' };
  const url = isObject(part.image_url) ? part.image_url.url : source.url;
  if (typeof url !== 'string') return { type: typeof part.type === 'string' ? part.type : 'unknown' };
  if (!url.startsWith('data:')) return { type: 'uri', modality: 'image', uri: url };
  return { type: 'blob', modality: 'image', mime_type: url.slice('data:'.length).split(/[;,]/, 1)[0] ?? '' };
}

function toolCallPart(call: JsonObject): JsonObject {
  const target = isObject(call.function) ? call.function : {};
  return {
    type: 'tool_call',
    id: call.id ?? null,
    name: target.name ?? null,
    arguments: target.arguments ?? null,
  };
}
