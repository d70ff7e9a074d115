import { currentRollout } from '@agentlightning/core';
import {
  type ModelRequest,
  type RedirectedFetchOptions,
  redirectedFetch,
  type TracePosition,
} from '@agentlightning/core/adapter';
import { markLayer, quietly, tapResponse } from '@agentlightning/core/internal';
import type { HttpExchange } from './http-exchange.ts';

/** Looks up the model call in progress. */
export interface CurrentCall {
  /** The HTTP exchange to record in; null without a model call of the framework. */
  exchange(): HttpExchange | null;
  /** The trace position of the call. */
  position(): TracePosition | null;
}

/** How model calls are recorded and redirected. */
export interface ModelFetchOptions {
  readonly calls: CurrentCall;
  readonly redirect: boolean;
  readonly shouldRedirect?: RedirectedFetchOptions['shouldRedirect'];
}

/** Wraps a fetch: records the HTTP exchange, and redirects model calls to the rollout's endpoint. */
export function tracedModelFetch(
  inner: typeof fetch,
  { calls, redirect, shouldRedirect }: ModelFetchOptions,
): typeof fetch {
  const position = (): TracePosition | null => calls.position();
  const onRequest = ({ body }: ModelRequest): void => calls.exchange()?.readRequest(body);
  const send = redirect ? redirectedFetch({ fetch: inner, shouldRedirect, position, onRequest }) : inner;
  const traced: typeof fetch = async (input, init) => {
    if (currentRollout() === null) return send(input, init);
    const exchange = calls.exchange();
    if (exchange === null) return send(input, init);
    exchange.sent(init?.body);
    quietly('A model call of OpenAI Agents has no position in the trace', () => calls.position());
    return recordResponse(await send(input, init), exchange);
  };
  return markLayer(traced, { inner: send, position });
}

/** Responses that are recorded already: a client's own fetch and the global fetch may both be wrapped. */
const recordedResponses = new WeakSet<Response>();

/** Returns the response with reads that are recorded. */
function recordResponse(response: Response, exchange: HttpExchange): Response {
  if (response.body === null || recordedResponses.has(response)) return response;
  const isStreamed = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
  const same = isStreamed ? recordStream(response, exchange) : recordText(response, exchange);
  recordedResponses.add(same);
  return same;
}

function recordStream(response: Response, exchange: HttpExchange): Response {
  const ignore = (): void => {};
  return tapResponse(response, {
    take: (chunk) => exchange.take(chunk),
    ended: () => exchange.ended(),
    failed: ignore,
    cancelled: ignore,
  });
}

/** A non-streaming body is useless before it is complete, so its read methods are patched instead of its stream. */
function recordText(response: Response, exchange: HttpExchange): Response {
  const read = response.text.bind(response);
  const text = async (): Promise<string> => {
    const body = await read();
    exchange.takeWhole(body);
    return body;
  };
  const json = async (): Promise<unknown> => JSON.parse(await text());
  return Object.defineProperties(response, {
    text: { value: text, configurable: true },
    json: { value: json, configurable: true },
  });
}
