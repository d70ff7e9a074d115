import type { JsonValue } from '@agentlightning/core';

/** A number; null when it is something else. */
export function numberOf(value: JsonValue | undefined): number | null {
  return typeof value === 'number' ? value : null;
}

/** A text; null when it is something else. */
export function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
