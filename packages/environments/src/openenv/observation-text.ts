import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject, objectsOf, textOf } from '@agentlightning/core/internal';

/**
 * The text of an observation: the result of a tool call; the only field that has a value, if it is a text; otherwise the fields as
 * JSON.
 */
export function observationText({ metadata: _, ...fields }: JsonObject): string {
  if ('tool_name' in fields) return resultText(fields);
  const values = Object.values(fields).filter((value) => value !== null);
  const [only] = values;
  return values.length === 1 && typeof only === 'string' ? only : JSON.stringify(fields);
}

/** The text of a `CallToolObservation`, whose result has the form of FastMCP. */
function resultText({ error, result }: JsonObject): string {
  if (isJsonObject(error)) return textOf(error.message) ?? JSON.stringify(error);
  if (!isJsonObject(result)) return plain(result);
  const texts = objectsOf(result.content).flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  return texts.length > 0 ? texts.join('\n') : plain(result.data ?? result);
}

function plain(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
