import type { JsonValue, ModelCall } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';

/** The text of a model call's first response; null when it has none, or the body was not recorded. */
export function responseText({ response }: ModelCall): string | null {
  const message = field(first(response?.['choices']), 'message');
  const content = field(message, 'content') ?? field(first(response?.['choices']), 'text');
  return typeof content === 'string' && content !== '' ? content : null;
}

function first(value: JsonValue | undefined): JsonValue | undefined {
  return Array.isArray(value) ? value[0] : undefined;
}

function field(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}
