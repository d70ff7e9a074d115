import type { JsonObject, JsonValue, ModelCall } from '@agentlightning/core';
import { isJsonObject, isRawJson, parseJsonObject } from '@agentlightning/core/internal';

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

/** The fields of each role in OpenAI's formats; services reject others. */
const formatFields: Readonly<Record<string, readonly string[]>> = {
  assistant: ['role', 'content', 'refusal', 'name', 'tool_calls', 'weight'],
  tool: ['role', 'content', 'tool_call_id'],
};

/** A message with the fields of OpenAI's formats only: without reasoning, and without fields that have no value. */
export function formatMessage(message: ChatMessage): ChatMessage {
  const fields = formatFields[String(message['role'])] ?? ['role', 'content', 'name'];
  const isGiven = (name: string): boolean => {
    const value = message[name];
    const isEmpty = value === undefined || value === null || (isList(value) && value.length === 0);
    // The content of an assistant message with tool calls may be null.
    return !isEmpty || (name === 'content' && value !== undefined);
  };
  return Object.fromEntries(fields.filter(isGiven).map((name) => [name, message[name] ?? null]));
}

/** Canonical text of a message. Tool arguments are JSON strings and are compared by value, not by formatting. */
function essence({ role, content, tool_calls: toolCalls, tool_call_id: toolCallId }: ChatMessage): string {
  const calls = isList(toolCalls)
    ? toolCalls.filter(isJsonObject).map((call) => {
        const called = call['function'];
        return isJsonObject(called) ? [call['id'], called['name'], argumentsValue(called['arguments'])] : call;
      })
    : [];
  const text = plainText(content ?? null);
  return JSON.stringify([role, text === '' ? null : text, calls, toolCallId ?? null], sortedFields);
}

/** Frameworks write the same arguments with other spacing, or another order of fields. */
function argumentsValue(value: JsonValue | undefined): JsonValue {
  return (typeof value === 'string' ? parseJsonObject(value) : null) ?? value ?? null;
}

/** A content of text parts is the same as its text. */
function plainText(content: JsonValue): JsonValue {
  if (!isList(content) || !content.every(isJsonObject)) return content;
  const texts = content.map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : null));
  return texts.includes(null) ? content : texts.join('');
}

function sortedFields(_: string, value: JsonValue): JsonValue {
  if (!isJsonObject(value) || isRawJson(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
