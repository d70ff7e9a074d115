import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import type { MessageOrder } from '../upstream/request-dialect.ts';
import { isJsonList } from '../wire/json-access.ts';
import { joinedSystem } from './content-parts.ts';

/**
 * Rewrites messages for a template: developer messages become system messages, and system messages at positions that the
 * template rejects become part of the user message beside them. Their position is kept, so that the prompt of a later call still
 * extends that of an earlier one.
 */
export function orderedMessages(value: JsonValue | undefined, order: MessageOrder): JsonValue | undefined {
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
export function orderChanges({ messages }: JsonObject, order: MessageOrder): readonly string[] {
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
