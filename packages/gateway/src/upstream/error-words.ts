import { isJsonObject, type JsonObject, type JsonValue, parseJsonObject } from '@agentlightning/core';
import { isJsonList, objectsOf, textOf } from '../http/json-access.ts';

/** How many characters of words that have no known form are told. */
const maxLength = 1000;

/**
 * What the body of an error says: in OpenAI's form, in another that engines have, or as it is. Empty for a web page,
 * and for a body without words.
 */
export function errorWords(text: string): string {
  const body = parseJsonObject(text);
  const said = body === null ? null : knownWords(body);
  if (said !== null) return said;
  const plain = text.trim();
  if (plain.startsWith('<')) return '';
  return plain.length > maxLength ? `${plain.slice(0, maxLength)}…` : plain;
}

function knownWords({ error, message, detail }: JsonObject): string | null {
  return (isJsonObject(error) ? textOf(error.message) : textOf(error)) ?? textOf(message) ?? detailWords(detail);
}

/** FastAPI, which most engines stand on, says with each message where in the request it belongs. */
function detailWords(detail: JsonValue | undefined): string | null {
  if (!isJsonList(detail)) return textOf(detail);
  const words = objectsOf(detail).flatMap(({ loc, msg }) => {
    const place = isJsonList(loc) ? `${loc.join('.')}: ` : '';
    return typeof msg === 'string' ? [place + msg] : [];
  });
  return words.length > 0 ? words.join('; ') : null;
}
