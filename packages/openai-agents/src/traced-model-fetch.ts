import { currentRollout } from '@agentlightning/core';
import {
  type CallPlace,
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
  const send = redirect ? redirectedFetch({ fetch: inner, shouldRedirect, place }) : inner;
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

/** The same response, whose bytes are noted as they pass by. */
function noted(response: Response, exchange: HttpExchange): Response {
  if (response.body === null || notedResponses.has(response)) return response;
  const ignore = (): void => {};
  const same = readThroughResponse(response, {
    take: (chunk: Uint8Array) => exchange.take(chunk),
    ended: () => exchange.ended(),
    failed: ignore,
    cancelled: ignore,
  });
  notedResponses.add(same);
  return same;
}
