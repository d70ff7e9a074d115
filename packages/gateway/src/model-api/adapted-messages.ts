import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import type { RequestDialect } from '../upstream/request-dialect.ts';
import { isJsonList, objectsOf, textOf } from '../wire/json-access.ts';
import { orderChanges, orderedMessages } from './message-order.ts';

/** The messages of a request as an upstream accepts them. */
export function adaptedMessages(value: JsonValue | undefined, dialect: RequestDialect): JsonValue | undefined {
  const ordered = orderedMessages(value, dialect.order);
  if (!isJsonList(ordered)) return ordered;
  return ordered.map((message) => {
    if (!isJsonObject(message)) return message;
    const plain = dialect.content === 'text' ? withPlainContent(message) : message;
    return dialect.callIds === 'nine-characters' ? withShortIds(plain) : plain;
  });
}

/** What {@link adaptedMessages} changes in a request, for its record. */
export function adaptedChanges(request: JsonObject, dialect: RequestDialect): readonly string[] {
  const messages = objectsOf(request.messages);
  const isChanged = (change: (message: JsonObject) => JsonObject): boolean =>
    messages.some((message) => change(message) !== message);
  return [
    ...orderChanges(request, dialect.order),
    ...(dialect.content === 'text' && isChanged(withPlainContent) ? ['messages: text parts joined to one text'] : []),
    ...(dialect.callIds === 'nine-characters' && isChanged(withShortIds)
      ? ['messages: ids of tool calls replaced by nine characters']
      : []),
  ];
}

/** A message whose content has only text parts, with one text; others unchanged. */
function withPlainContent(message: JsonObject): JsonObject {
  const { content } = message;
  if (!isJsonList(content) || !content.every(isJsonObject)) return message;
  const texts = content.map((part) => (part.type === 'text' ? textOf(part.text) : null));
  return texts.every((text) => text !== null) ? { ...message, content: texts.join('\n') } : message;
}

/** A message whose ids of tool calls have nine letters and digits, equal ones for equal ids; the message itself if it has. */
function withShortIds(message: JsonObject): JsonObject {
  const resultOf = textOf(message.tool_call_id);
  const calls = isJsonList(message.tool_calls) ? message.tool_calls : [];
  const short = calls.map((call) => {
    const id = isJsonObject(call) ? textOf(call.id) : null;
    return isJsonObject(call) && id !== null && !isShort(id) ? { ...call, id: shortId(id) } : call;
  });
  const isSame = short.every((call, index) => call === calls[index]) && (resultOf === null || isShort(resultOf));
  if (isSame) return message;
  return {
    ...message,
    ...(calls.length === 0 ? {} : { tool_calls: short }),
    ...(resultOf === null || isShort(resultOf) ? {} : { tool_call_id: shortId(resultOf) }),
  };
}

function isShort(id: string): boolean {
  return /^[a-zA-Z0-9]{9}$/.test(id);
}

function shortId(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}
