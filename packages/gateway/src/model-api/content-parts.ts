import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonList, textOf } from '../wire/json-access.ts';

/** Merges the system messages at the beginning: the templates of open models accept only one. */
export function joinedSystem(messages: readonly JsonObject[]): readonly JsonObject[] {
  const first = messages.findIndex((message) => message.role !== 'system');
  const count = first === -1 ? messages.length : first;
  if (count < 2) return messages;
  const texts = messages.slice(0, count).map((message) => textOf(message.content));
  if (texts.includes(null)) return messages;
  return [{ role: 'system', content: texts.join('\n\n') }, ...messages.slice(count)];
}

/** Joins the parts of a content if all are texts; templates of text-only models accept nothing else. */
export function plainContent(parts: readonly JsonObject[]): JsonValue {
  const texts = parts.map((part) => (part.type === 'text' ? textOf(part.text) : null));
  return texts.includes(null) ? parts : texts.join('\n');
}

/** The parts of a content that may be a string; null for other types. */
export function partsOrText(content: JsonValue | undefined): string | readonly JsonValue[] | null {
  return typeof content === 'string' || isJsonList(content) ? content : null;
}
