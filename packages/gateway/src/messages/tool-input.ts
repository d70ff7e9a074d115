import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject, parseJsonObject } from '@agentlightning/core/internal';

/** Key for tool call arguments that are not a JSON object. */
const brokenKey = 'INVALID_JSON';

/** The arguments of a tool call as an object. Invalid arguments are kept as text under a separate key. */
export function toolInput(text: string): JsonObject {
  if (text.trim() === '') return {};
  return parseJsonObject(text) ?? { [brokenKey]: text };
}

/** The arguments of a tool call as text. */
export function argumentsText(input: JsonValue | undefined): string {
  if (!isJsonObject(input)) return JSON.stringify(input ?? {});
  const broken = input[brokenKey];
  return typeof broken === 'string' && Object.keys(input).length === 1 ? broken : JSON.stringify(input);
}
