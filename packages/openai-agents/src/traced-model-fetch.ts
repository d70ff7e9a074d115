import { currentRollout } from '@agentlightning/core';
import {
  type CallPlace,
  type ModelRequest,
  markLayer,
  quietly,
  type RedirectedFetchOptions,
  readThroughResponse,
  redirectedFetch,
} from '@agentlightning/core/adapter';
import type { HttpExchange } from './http-exchange.ts';

/** What is known of a model call that is made now. */
export interface CallsUnderWay {
  /** What goes over the wire for it is noted here; null when no model call of the framework is under way. */
  exchange(): HttpExchange | null;
  /** Where in the trace it belongs. */
  place(): CallPlace | null;
}

/** How model calls are treated. */
export interface ModelFetchOptions {
  readonly calls: CallsUnderWay;
  readonly redirect: boolean;
  readonly shouldRedirect?: RedirectedFetchOptions['shouldRedirect'];
}

/** Lays a fetch over another that notes what goes over the wire, and sends model calls to the rollout's endpoint. */
export function tracedModelFetch(
  inner: typeof fetch,
  { calls, redirect, shouldRedirect }: ModelFetchOptions,
): typeof fetch {
  const place = (): CallPlace | null => calls.place();
  const onRequest = ({ body }: ModelRequest): void => calls.exchange()?.readRequest(body);
  const send = redirect ? redirectedFetch({ fetch: inner, shouldRedirect, place, onRequest }) : inner;
  const traced: typeof fetch = async (input, init) => {
    if (currentRollout() === null) return send(input, init);
    const exchange = calls.exchange();
    if (exchange === null) return send(input, init);
    exchange.sent(init?.body);
    quietly('A model call of OpenAI Agents has no place in the trace', () => calls.place());
    return noted(await send(input, init), exchange);
  };
  return markLayer(traced, { inner: send, place });
}

/** Answers that are noted already: a client's own fetch and the global one may both be ours. */
const notedResponses = new WeakSet<Response>();

/** The same response, whose answer is noted when it is read. */
function noted(response: Response, exchange: HttpExchange): Response {
  if (response.body === null || notedResponses.has(response)) return response;
  const isStreamed = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
  const same = isStreamed ? notedStream(response, exchange) : notedText(response, exchange);
  notedResponses.add(same);
  return same;
}

function notedStream(response: Response, exchange: HttpExchange): Response {
  const ignore = (): void => {};
  return readThroughResponse(response, {
    take: (chunk) => exchange.take(chunk),
    ended: () => exchange.ended(),
    failed: ignore,
    cancelled: ignore,
  });
}

/** An answer in one piece says nothing before it is whole, so there is no need of a stream of ours in between. */
function notedText(response: Response, exchange: HttpExchange): Response {
  const read = response.text.bind(response);
  const text = async (): Promise<string> => {
    const answer = await read();
    exchange.takeWhole(answer);
    return answer;
  };
  const json = async (): Promise<unknown> => JSON.parse(await text());
  return Object.defineProperties(response, {
    text: { value: text, configurable: true },
    json: { value: json, configurable: true },
  });
}
