import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject, parseJsonObject } from '@agentlightning/core/internal';

/** Where Anthropic keeps arguments of a call that are no JSON. */
const brokenKey = 'INVALID_JSON';

/** The arguments of a call as an object. What a model wrote that is no object is kept as it is, under a name for that. */
export function toolInput(text: string): JsonObject {
  if (text.trim() === '') return {};
  return parseJsonObject(text) ?? { [brokenKey]: text };
}

/** The arguments of a call as text. */
export function argumentsText(input: JsonValue | undefined): string {
  if (!isJsonObject(input)) return JSON.stringify(input ?? {});
  const broken = input[brokenKey];
  return typeof broken === 'string' && Object.keys(input).length === 1 ? broken : JSON.stringify(input);
}
