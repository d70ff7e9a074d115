import type { JsonObject, JsonValue } from '@agentlightning/core';
import { objectsOf, textOf } from '../http/json-access.ts';

/** Marks texts that were written by {@link sealedReasoning}. */
const sealPrefix = 'agl.';

/** Thoughts as the opaque text that clients keep and send back when nothing is stored for them. */
export function sealedReasoning(text: string): string {
  return sealPrefix + Buffer.from(text, 'utf8').toString('base64url');
}

/** The thoughts of a reasoning item: as the model had them, else as they were summed up. */
export function reasoningText(item: JsonObject): string {
  const sealed = textOf(item.encrypted_content);
  if (sealed?.startsWith(sealPrefix)) return Buffer.from(sealed.slice(sealPrefix.length), 'base64url').toString('utf8');
  const content = textsOf(item.content);
  return (content.length > 0 ? content : textsOf(item.summary)).join('\n');
}

function textsOf(parts: JsonValue | undefined): readonly string[] {
  return objectsOf(parts).map((part) => textOf(part.text) ?? '');
}
