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

type Header = [name: string, value: unknown];

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

/**
 * The request's headers with the endpoint's key in the place of the agent's, and the place in the trace.
 *
 * @returns names in lower case; no `Headers`, which is slow to make, and which `fetch` would make once more
 */
export function gatewayHeaders(headers: HeadersInput, options: GatewayHeaderOptions): Readonly<Record<string, string>> {
  const sent: Record<string, string> = {};
  for (const [name, value] of headerEntries(headers)) {
    const lower = name.toLowerCase();
    if (droppedHeaders.has(lower)) continue;
    sent[lower] = Object.hasOwn(sent, lower) ? `${sent[lower]}, ${value}` : String(value);
  }
  return Object.assign(sent, ownHeaders(options));
}

function ownHeaders({ context, endpoint, place }: GatewayHeaderOptions): Readonly<Record<string, string>> {
  const { parentSpanId, agentName, agentPath } = place;
  return {
    ...(endpoint.apiKey === null ? {} : { authorization: `Bearer ${endpoint.apiKey}` }),
    [callHeaders.traceId]: context.traceId,
    ...(parentSpanId === null ? {} : { [callHeaders.parentSpanId]: parentSpanId }),
    ...(agentName === null ? {} : { [callHeaders.agentName]: headerText(agentName) }),
    ...(agentPath.length === 0
      ? {}
      : { [callHeaders.agentPath]: agentPath.map((name) => encodeURIComponent(name)).join('>') }),
  };
}

/** Whether a header is among those that a `fetch` was called with, in whichever form. */
export function hasHeader(headers: HeadersInput, name: string): boolean {
  if (headers instanceof Headers) return headers.has(name);
  for (const [other] of headerEntries(headers)) if (other.toLowerCase() === name) return true;
  return false;
}

/** Names and values as they were given: frameworks have classes of their own for it, which can be iterated. */
function headerEntries(headers: HeadersInput): Iterable<Header> {
  return Symbol.iterator in headers ? headers : Object.entries(headers);
}

function headerText(text: string): string {
  return /^[\x20-\x24\x26-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}
