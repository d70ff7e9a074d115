import type { JsonObject } from '../base/json.ts';
import { isObject, parseObject } from '../base/json-access.ts';

/** API of a model request. */
export type ModelApi = 'chat-completions' | 'completions' | 'responses' | 'embeddings' | 'messages';

/** A request to a model. */
export interface ModelRequest {
  /** The API of the request. */
  readonly api: ModelApi;
  /** The address. */
  readonly url: URL;
  /** Path below the API root, with the query: `/chat/completions`. */
  readonly path: string;
  /** The body. */
  readonly body: JsonObject;
  /** The body to send. */
  readonly text: string;
  /** The requested model; null when the URL contains it, as with Azure. */
  readonly model: string | null;
}

/** The parsed arguments of a `fetch` call: the model request, if it is one, and the `init` for sending it. */
export interface ReadFetch {
  readonly request: ModelRequest | null;
  /** The passed `init`; a body that can be read only once is replaced by its bytes. */
  readonly init: RequestInit | undefined;
}

type FetchInput = Parameters<typeof fetch>[0];

const apiPaths: readonly (readonly [string, ModelApi])[] = [
  ['/chat/completions', 'chat-completions'],
  ['/completions', 'completions'],
  ['/responses', 'responses'],
  ['/embeddings', 'embeddings'],
  ['/messages', 'messages'],
];

/**
 * Distinguishes model requests from all others: a POST to a known path with a body of that API.
 *
 * The body is checked because other services have such paths too, such as a chat's `/messages`.
 *
 * @returns synchronously when the body is a string, as with most clients
 */
export function readFetch(input: FetchInput, init: RequestInit | undefined): ReadFetch | Promise<ReadFetch> {
  const url = urlOf(input);
  const method = init?.method ?? (isRequest(input) ? input.method : 'GET');
  const found = url === null ? undefined : apiPaths.find(([path]) => url.pathname.endsWith(path));
  if (url === null || found === undefined || method.toUpperCase() !== 'POST') return { request: null, init };
  const read = (text: string | null, readInit = init): ReadFetch => ({
    request: text === null ? null : requestOf(text, url, found),
    init: readInit,
  });
  const body = init?.body;
  if (isStream(body)) {
    // Read as bytes: a body that is not a model call can be binary and must be forwarded unchanged.
    const bytes = new Response(body).arrayBuffer();
    return bytes.then((whole) => read(new TextDecoder().decode(whole), { ...init, body: whole }));
  }
  const text = textOf(input, init);
  return text instanceof Promise ? text.then((whole) => read(whole)) : read(text);
}

function requestOf(text: string, url: URL, [apiPath, api]: (typeof apiPaths)[number]): ModelRequest | null {
  const body = parseObject(text);
  if (body === null || !isBodyOf(api, body)) return null;
  const model = typeof body.model === 'string' ? body.model : null;
  return { api, url, path: apiPath + url.search, body, text, model };
}

/** Tested by exclusion: frameworks replace the global `Request` with their own classes. */
export function isRequest(input: FetchInput): input is Request {
  return typeof input !== 'string' && !(input instanceof URL);
}

function isBodyOf(api: ModelApi, body: JsonObject): boolean {
  const hasModel = typeof body.model === 'string';
  switch (api) {
    case 'chat-completions':
      return areMessages(body.messages);
    case 'messages':
      return hasModel && areMessages(body.messages);
    case 'completions':
      return hasModel && 'prompt' in body;
    case 'responses':
      return hasModel && ('input' in body || 'previous_response_id' in body || 'prompt' in body);
    case 'embeddings':
      return hasModel && 'input' in body;
  }
}

function areMessages(value: JsonObject[string] | undefined): boolean {
  return Array.isArray(value) && value.every((message) => isObject(message) && typeof message.role === 'string');
}

function urlOf(input: FetchInput): URL | null {
  const text = isRequest(input) ? input.url : String(input);
  return URL.parse(text);
}

/** Web streams and Node streams (any async iterable of bytes). */
function isStream(body: RequestInit['body']): boolean {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

/** The body as text; null without a body, or for one that cannot be JSON. */
function textOf(input: FetchInput, init: RequestInit | undefined): string | null | Promise<string> {
  const body = init?.body;
  if (typeof body === 'string') return body;
  if (body instanceof FormData || body instanceof URLSearchParams) return null;
  if (body !== undefined && body !== null) return new Response(body).text();
  // A clone: the request must remain sendable.
  return isRequest(input) && init?.body !== null ? input.clone().text() : null;
}
