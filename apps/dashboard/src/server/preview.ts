import type { JsonValue } from '@agentlightning/core';

/** Maximum length of a preview in characters. */
const maxLength = 160;

/** The start of a JSON value on one line. A text is shown without quotes. */
export function previewOf(value: JsonValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const line = text.replace(/\s+/g, ' ');
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1)}…`;
}

/** The first text in a JSON value, as a preview; the preview of the value without a text. */
export function textPreviewOf(value: JsonValue): string {
  return previewOf(firstText(value) ?? value);
}

function firstText(value: JsonValue): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  if (typeof value !== 'object' || value === null) return null;
  for (const part of Object.values(value)) {
    const text = firstText(part);
    if (text !== null) return text;
  }
  return null;
}
