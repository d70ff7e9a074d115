import { agentPathOf } from '../agent-path.ts';
import type { RolloutContext, RolloutEndpoint } from '../rollout-context.ts';
import type { CallPlace } from './agent-step.ts';
import type { ModelRequest } from './model-request.ts';

/** Headers by which the gateway knows where in the trace a call belongs. */
export const callHeaders = {
  traceId: 'x-agl-trace-id',
  parentSpanId: 'x-agl-parent-span-id',
  /** Percent-encoded where it has a percent sign, or other characters than those of ASCII. */
  agentName: 'x-agl-agent-name',
  /** The agents at work, from the outermost on, each percent-encoded, joined by `>`. */
  agentPath: 'x-agl-agent-path',
} as const;

/** Headers in any form that a `fetch` can be called with. */
export type HeadersInput = NonNullable<RequestInit['headers']>;

type Header = [name: string, value: string];

/** What the agent's own provider knows it by, which is none of the gateway's business. */
const droppedHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'api-key',
  'openai-organization',
  'openai-project',
  'cookie',
  // The body that is sent is the text that was read; fetch knows its length.
  'content-length',
]);

/** The URL of the same call at the attempt's own endpoint. */
export function gatewayUrl(request: ModelRequest, endpoint: RolloutEndpoint): string {
  return endpoint.baseUrl.replace(/\/+$/, '') + request.path;
}

/** Where a call belongs by the rollout alone, when no framework knows better. */
export function placeOfContext(context: RolloutContext): CallPlace {
  return { parentSpanId: context.parentSpanId, agentName: context.agentName, agentPath: agentPathOf(context) };
}

/** What the headers of a call through the gateway are made of. */
export interface GatewayHeaderOptions {
  readonly context: RolloutContext;
  readonly endpoint: RolloutEndpoint;
  readonly place: CallPlace;
}

/** The request's headers with the endpoint's key in the place of the agent's, and the place in the trace. */
export function gatewayHeaders(headers: HeadersInput, options: GatewayHeaderOptions): Headers {
  const ours = [...ownHeaders(options)];
  const isKept = ([name]: Header): boolean =>
    !droppedHeaders.has(name.toLowerCase()) && !ours.some(([own]) => own === name.toLowerCase());
  // Made at once: to take single headers out of `Headers` costs as much as to make them anew.
  return new Headers([...headerEntries(headers).filter(isKept), ...ours]);
}

function* ownHeaders({ context, endpoint, place }: GatewayHeaderOptions): Generator<Header> {
  if (endpoint.apiKey !== null) yield ['authorization', `Bearer ${endpoint.apiKey}`];
  yield [callHeaders.traceId, context.traceId];
  if (place.parentSpanId !== null) yield [callHeaders.parentSpanId, place.parentSpanId];
  if (place.agentName !== null) yield [callHeaders.agentName, headerText(place.agentName)];
  if (place.agentPath.length === 0) return;
  yield [callHeaders.agentPath, place.agentPath.map((name) => encodeURIComponent(name)).join('>')];
}

/** Whether a header is among those that a `fetch` was called with, in whichever form. */
export function hasHeader(headers: HeadersInput, name: string): boolean {
  return headers instanceof Headers
    ? headers.has(name)
    : headerEntries(headers).some(([other]) => other.toLowerCase() === name);
}

/** Names and values as they were given: frameworks have classes of their own for it, which can be iterated. */
function headerEntries(headers: HeadersInput): Header[] {
  return Symbol.iterator in headers
    ? Array.from(headers, ([name, value]) => [name, value])
    : Object.entries(headers).map(([name, value]) => [name, String(value)]);
}

function headerText(text: string): string {
  return /^[\x20-\x24\x26-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}
