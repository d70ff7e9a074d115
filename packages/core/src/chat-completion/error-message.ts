import type { JsonObject, JsonValue } from '../json.ts';
import { isList, isObject, objectsOf, parseObject, textOf } from '../json-access.ts';

/** Length above which an error body of an unknown form is cut, in characters. */
const maxLength = 1000;

/**
 * The error that the body of a model's response reports, or an event of a stream, of any API: OpenAI's and Anthropic's form,
 * that of a failed response of the Responses API, and those of vLLM, Ollama and FastAPI.
 *
 * @returns null when it reports none
 *
 * @example
 * ```ts
 * errorMessageOf({ error: { message: 'too long', code: 400 } }); // 'too long'
 * ```
 */
export function errorMessageOf({ error, type, object, message, detail, response }: JsonObject): string | null {
  if (isObject(error)) return textOf(error.message) ?? JSON.stringify(error);
  if (type === 'error' || object === 'error') return textOf(message);
  return textOf(error) ?? detailMessage(detail) ?? (isObject(response) ? errorMessageOf(response) : null);
}

/**
 * The message of the body of an HTTP error: what {@link errorMessageOf} finds, or the text itself. Empty for a web page, and
 * for an empty body.
 */
export function httpErrorMessage(text: string): string {
  const body = parseObject(text);
  const message = body === null ? null : (errorMessageOf(body) ?? textOf(body.message));
  if (message !== null) return message;
  const plain = text.trim();
  if (plain.startsWith('<')) return '';
  return plain.length > maxLength ? `${plain.slice(0, maxLength)}…` : plain;
}

/** FastAPI, which most engines are built on, reports the place in the request with each message. */
function detailMessage(detail: JsonValue | undefined): string | null {
  if (!isList(detail)) return textOf(detail);
  const messages = objectsOf(detail).flatMap(({ loc, msg }) => {
    const place = isList(loc) ? `${loc.join('.')}: ` : '';
    return typeof msg === 'string' ? [place + msg] : [];
  });
  return messages.length > 0 ? messages.join('; ') : null;
}
