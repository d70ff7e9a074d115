import type { JsonObject, JsonValue } from '../base/json.ts';
import { isList, isObject, numberOf, objectsOf, parseObject, textOf } from '../base/json-access.ts';

/** Maximum length of an error body of unknown form, in characters. */
const maxLength = 1000;

/**
 * The error reported by a response body or stream event of any supported API: the forms of OpenAI and Anthropic, of a
 * failed response of the Responses API, and of vLLM, Ollama, FastAPI and MiniMax.
 *
 * @returns null without an error
 *
 * @example
 * ```ts
 * errorMessageOf({ error: { message: 'too long', code: 400 } }); // 'too long'
 * ```
 */
export function errorMessageOf({ base_resp: status, ...body }: JsonObject): string | null {
  const { error, type, object, message, detail, response } = body;
  if (isObject(error)) return textOf(error.message) ?? JSON.stringify(error);
  if (type === 'error' || object === 'error') return textOf(message);
  if (isObject(status) && numberOf(status.status_code) !== 0) return textOf(status.status_msg);
  return textOf(error) ?? detailMessage(detail) ?? (isObject(response) ? errorMessageOf(response) : null);
}

/**
 * The message of an HTTP error body: the result of {@link errorMessageOf}, or the text itself. Empty for an HTML page
 * and for an empty body.
 */
export function httpErrorMessage(text: string): string {
  const body = parseObject(text);
  const message = body === null ? null : (errorMessageOf(body) ?? textOf(body.message));
  if (message !== null) return message;
  const plain = text.trim();
  if (plain.startsWith('<')) return '';
  return plain.length > maxLength ? `${plain.slice(0, maxLength)}…` : plain;
}

/** FastAPI, on which most engines are built, reports a field path with each message. */
function detailMessage(detail: JsonValue | undefined): string | null {
  if (!isList(detail)) return textOf(detail);
  const messages = objectsOf(detail).flatMap(({ loc, msg }) => {
    const place = isList(loc) ? `${loc.join('.')}: ` : '';
    return typeof msg === 'string' ? [place + msg] : [];
  });
  return messages.length > 0 ? messages.join('; ') : null;
}
