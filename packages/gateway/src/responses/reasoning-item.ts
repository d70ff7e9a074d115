import type { JsonObject, JsonValue } from '@agentlightning/core';
import { objectsOf, textOf } from '../http/json-access.ts';
import { unsealedReasoning } from '../model-api/sealed-reasoning.ts';

/** The text of a reasoning item: the original if present, else its summary. */
export function reasoningText(item: JsonObject): string {
  const unsealed = unsealedReasoning(textOf(item.encrypted_content));
  if (unsealed !== null) return unsealed;
  const content = textsOf(item.content);
  return (content.length > 0 ? content : textsOf(item.summary)).join('\n');
}

function textsOf(parts: JsonValue | undefined): readonly string[] {
  return objectsOf(parts).map((part) => textOf(part.text) ?? '');
}
