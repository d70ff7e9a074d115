import type { JsonObject, JsonValue, ModelCall } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';

/** A message of a chat completion, as in the request or the response. */
export type ChatMessage = JsonObject;

/** The messages of the request of a chat completion; null when the call is not a chat completion, or no body was recorded. */
export function requestMessages({ request }: ModelCall): readonly ChatMessage[] | null {
  const messages = request?.['messages'];
  return isList(messages) && messages.every(isJsonObject) ? messages : null;
}

/**
 * The first response message of a chat completion, with the fields that a later request repeats: role, content and
 * tool calls. Null when it is missing or was cut off.
 */
export function responseMessage({ response, choices }: ModelCall): ChatMessage | null {
  const candidates = response?.['choices'];
  const choice = isList(candidates) ? candidates[0] : undefined;
  const message = isJsonObject(choice) ? choice['message'] : undefined;
  if (!isJsonObject(message) || choices[0]?.finishReason === null) return null;
  const { content = null, tool_calls: toolCalls } = message;
  const hasToolCalls = isList(toolCalls) && toolCalls.length > 0;
  if (!hasToolCalls && (typeof content !== 'string' || content === '')) return null;
  return { role: 'assistant', content, ...(hasToolCalls ? { tool_calls: toolCalls } : {}) };
}

/** Whether two messages have the same role, content and tool calls. */
export function isSameMessage(one: ChatMessage, other: ChatMessage): boolean {
  return essence(one) === essence(other);
}

/** Canonical text of a message. Tool arguments are JSON strings and are compared by value, not by formatting. */
function essence({ role, content, tool_calls: toolCalls, tool_call_id: toolCallId }: ChatMessage): string {
  const calls = isList(toolCalls)
    ? toolCalls.filter(isJsonObject).map((call) => {
        const called = call['function'];
        return isJsonObject(called) ? [call['id'], called['name'], called['arguments']] : call;
      })
    : [];
  return JSON.stringify([role, content === '' ? null : (content ?? null), calls, toolCallId ?? null]);
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
