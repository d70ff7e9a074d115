import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject, isRawJson, parseKeepingNumbers } from '@agentlightning/core/internal';

/** Key for tool call arguments that are not a JSON object. */
const brokenKey = 'INVALID_JSON';

/** The arguments of a tool call as an object, with the text of their numbers. Invalid arguments are kept as text under a separate key. */
export function toolInput(text: string): JsonObject {
  if (text.trim() === '') return {};
  try {
    const input = parseKeepingNumbers(text);
    if (isJsonObject(input) && !isRawJson(input)) return input;
  } catch {
    // Not JSON: kept as text.
  }
  return { [brokenKey]: text };
}

/** The arguments of a tool call as text. */
export function argumentsText(input: JsonValue | undefined): string {
  if (!isJsonObject(input)) return JSON.stringify(input ?? {});
  const broken = input[brokenKey];
  return typeof broken === 'string' && Object.keys(input).length === 1 ? broken : JSON.stringify(input);
}
