import type { JsonObject, JsonValue } from '@agentlightning/core';
import { hasUnusualNumbers, isJsonObject, parseJsonObject, parseKeepingNumbers } from '@agentlightning/core/internal';

export { numberOf, objectsOf, textOf } from '@agentlightning/core/internal';

/** Whether a JSON value is a list. */
export function isJsonList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The list; an empty one for any other value. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonList(value) ? value : [];
}

/** The object; an empty one for any other value. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The defined fields; null is kept. */
export function definedFields(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const defined: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) defined[name] = value;
  return defined;
}

/** The fields of model requests whose numbers the gateway does not read: conversations, tools and schemas. */
const passedFields: ReadonlySet<string> = new Set([
  'messages',
  'input',
  'tools',
  'functions',
  'response_format',
  'text',
  'output_config',
  'output_format',
  'chat_template_kwargs',
]);

/** The JSON object of a model request; null for other texts. What passes through to the model keeps the text of its numbers. */
export function parseRequest(text: string): JsonObject | null {
  const request = parseJsonObject(text);
  if (request === null || !hasUnusualNumbers(text)) return request;
  const kept = objectOf(parseKeepingNumbers(text));
  const fields = Object.entries(request).map(([name, value]) => [name, passedFields.has(name) ? kept[name] : value]);
  return Object.fromEntries(fields);
}
