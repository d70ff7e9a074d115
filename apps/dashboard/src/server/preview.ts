import type { JsonValue } from '@agentlightning/core';

/** Maximum length of a preview in characters. */
const maxLength = 160;

/** The start of a JSON value on one line. A text is shown without quotes. */
export function previewOf(value: JsonValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const line = text.replace(/\s+/g, ' ');
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1)}…`;
}
