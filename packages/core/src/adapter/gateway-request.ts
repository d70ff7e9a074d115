import { headerNames } from '../base/header-names.ts';
import { agentPathOf } from '../tracing/agent-path.ts';
import type { RolloutContext, RolloutEndpoint } from '../tracing/rollout-context.ts';
import type { TracePosition } from './agent-step.ts';
import type { ModelRequest } from './model-request.ts';

/** Every form of headers that `fetch` accepts. */
export type HeadersInput = NonNullable<RequestInit['headers']>;

type Header = [name: string, value: unknown];

/** Credentials of the agent's own provider, which the gateway must not receive. */
const droppedHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'api-key',
  'openai-organization',
  'openai-project',
  'cookie',
  // The body is sent as the text that was read; fetch sets its length.
  'content-length',
]);

/** URL of the same call at the attempt's endpoint. */
export function gatewayUrl(request: ModelRequest, endpoint: RolloutEndpoint): string {
  return endpoint.baseUrl.replace(/\/+$/, '') + request.path;
}

/** Trace position from the rollout context, used when no framework provides one. */
export function positionOfContext(context: RolloutContext): TracePosition {
  return { parentSpanId: context.parentSpanId, agentName: context.agentName, agentPath: agentPathOf(context) };
}

/** Inputs of {@link gatewayHeaders}. */
export interface GatewayHeaderOptions {
  readonly context: RolloutContext;
  readonly endpoint: RolloutEndpoint;
  readonly position: TracePosition;
}

/**
 * The request's headers, with the endpoint's key instead of the agent's, and the trace position.
 *
 * @returns names in lower case. Not a `Headers` instance: creating one is slow, and `fetch` would create a second.
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

function ownHeaders({ context, endpoint, position }: GatewayHeaderOptions): Readonly<Record<string, string>> {
  const { parentSpanId, agentName, agentPath } = position;
  return {
    ...(endpoint.apiKey === null ? {} : { authorization: `Bearer ${endpoint.apiKey}` }),
    [headerNames.traceId]: context.traceId,
    ...(parentSpanId === null ? {} : { [headerNames.parentSpanId]: parentSpanId }),
    ...(agentName === null ? {} : { [headerNames.agentName]: headerText(agentName) }),
    ...(agentPath.length === 0
      ? {}
      : { [headerNames.agentPath]: agentPath.map((name) => encodeURIComponent(name)).join('>') }),
  };
}

/** Whether the headers of a `fetch` call, in any form, include a header. */
export function hasHeader(headers: HeadersInput, name: string): boolean {
  if (headers instanceof Headers) return headers.has(name);
  for (const [other] of headerEntries(headers)) if (other.toLowerCase() === name) return true;
  return false;
}

/** Header entries as passed. Frameworks use iterable classes for headers. */
function headerEntries(headers: HeadersInput): Iterable<Header> {
  return Symbol.iterator in headers ? headers : Object.entries(headers);
}

function headerText(text: string): string {
  return /^[\x20-\x24\x26-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}
