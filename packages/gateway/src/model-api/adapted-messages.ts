import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import type { MessageOrder, RequestDialect } from '../upstream/request-dialect.ts';
import { isJsonList, objectsOf, textOf } from '../wire/json-access.ts';
import { joinedSystem } from './content-parts.ts';

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

/**
 * Rewrites messages for a template: developer messages become system messages, and system messages at positions that the
 * template rejects become part of the user message beside them. Their position is kept, so that the prompt of a later call still
 * extends that of an earlier one.
 */
function orderedMessages(value: JsonValue | undefined, order: MessageOrder): JsonValue | undefined {
  if (order === 'any' || !isJsonList(value) || !value.every(isJsonObject)) return value;
  const messages = joinedSystem(value.map((message) => (isSystem(message) ? { ...message, role: 'system' } : message)));
  const first = messages.findIndex((message) => !isSystem(message));
  const start = order === 'no-system' ? 0 : first === -1 ? messages.length : first;
  const users = afterToolResults(messages.slice(start)).map((message) =>
    isSystem(message) ? { ...message, role: 'user' } : message,
  );
  return [...messages.slice(0, start), ...(users.length === 0 ? [] : joinedUsers(users))];
}

/** What {@link orderedMessages} changes in a request, for its record. */
function orderChanges({ messages }: JsonObject, order: MessageOrder): readonly string[] {
  if (order === 'any' || !isJsonList(messages) || !messages.every(isJsonObject)) return [];
  const first = messages.findIndex((message) => !isSystem(message));
  const last = messages.findLastIndex(isSystem);
  const isMoved = last !== -1 && (order === 'no-system' || (first !== -1 && last > first));
  return isMoved ? ['messages: system messages moved into user messages'] : [];
}

function isSystem({ role }: JsonObject): boolean {
  return role === 'system' || role === 'developer';
}

/** Moves system messages between tool calls and their results behind the results, which must follow their calls. */
function afterToolResults(messages: readonly JsonObject[]): readonly JsonObject[] {
  const moved: JsonObject[] = [];
  let held: JsonObject[] = [];
  for (const [index, message] of messages.entries()) {
    const isBeforeResult =
      isSystem(message) && messages.slice(index).find((other) => !isSystem(other))?.role === 'tool';
    if (isBeforeResult) held.push(message);
    else {
      if (message.role !== 'tool') {
        moved.push(...held);
        held = [];
      }
      moved.push(message);
    }
  }
  return [...moved, ...held];
}

function joinedUsers(messages: readonly JsonObject[]): readonly JsonObject[] {
  const joined: JsonObject[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.role !== 'user' || message.role !== 'user') joined.push(message);
    else joined[joined.length - 1] = { ...last, content: joinedContent(last.content, message.content) };
  }
  return joined;
}

function joinedContent(left: JsonValue | undefined, right: JsonValue | undefined): JsonValue {
  if (typeof left === 'string' && typeof right === 'string') return `${left}\n\n${right}`;
  return [...partsOf(left), ...partsOf(right)];
}

function partsOf(content: JsonValue | undefined): readonly JsonValue[] {
  if (isJsonList(content)) return content;
  return typeof content === 'string' ? [{ type: 'text', text: content }] : [];
}
