import type { JsonObject } from '../json.ts';
import { isObject, parseObject } from '../json-access.ts';

/** Which API a request to a model speaks. */
export type ModelApi = 'chat-completions' | 'completions' | 'responses' | 'embeddings' | 'messages';

/** A request that asks a model for something. */
export interface ModelRequest {
  readonly api: ModelApi;
  readonly url: URL;
  /** The path after the API's root, with the query: `/chat/completions`. */
  readonly path: string;
  readonly body: JsonObject;
  /** The body as it is sent. */
  readonly text: string;
  /** The model that is asked for; null when the URL says it, as with Azure. */
  readonly model: string | null;
}

/** What was passed to `fetch`: the request when it is one to a model, and how to send it otherwise. */
export interface ReadFetch {
  readonly request: ModelRequest | null;
  /** The same as was passed, except that a body that could be read only once is its bytes now. */
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
 * Tells requests to a model from all others: a POST to one of the known paths, with a body as that API has it.
 *
 * The body counts because other services have such paths too: posting to a chat's `/messages` is no model call.
 *
 * @returns at once where the body is a text, as that of most clients is
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
    // As bytes: what turns out to be no model call may be no text either, and must be sent on as it is.
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

/** By what it is not: frameworks put classes of their own in the place of the global `Request`. */
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

/** Besides streams of the web, those of Node: any asynchronous list of bytes. */
function isStream(body: RequestInit['body']): boolean {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

/** The body as text; null when there is none, or one that is surely no JSON. */
function textOf(input: FetchInput, init: RequestInit | undefined): string | null | Promise<string> {
  const body = init?.body;
  if (typeof body === 'string') return body;
  if (body instanceof FormData || body instanceof URLSearchParams) return null;
  if (body !== undefined && body !== null) return new Response(body).text();
  // A clone, so that the request can still be sent as it is.
  return isRequest(input) && init?.body !== null ? input.clone().text() : null;
}
