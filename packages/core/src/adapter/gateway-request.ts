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

/** What the agent's own provider knows it by: none of the gateway's business. */
const providerHeaders = ['authorization', 'x-api-key', 'api-key', 'openai-organization', 'openai-project', 'cookie'];

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
export function gatewayHeaders(headers: Headers, { context, endpoint, place }: GatewayHeaderOptions): Headers {
  const sent = new Headers(headers);
  for (const name of providerHeaders) sent.delete(name);
  // The body that is sent is the text that was read; fetch knows its length.
  sent.delete('content-length');
  if (endpoint.apiKey !== null) sent.set('authorization', `Bearer ${endpoint.apiKey}`);
  sent.set(callHeaders.traceId, context.traceId);
  if (place.parentSpanId !== null) sent.set(callHeaders.parentSpanId, place.parentSpanId);
  if (place.agentName !== null) sent.set(callHeaders.agentName, headerText(place.agentName));
  if (place.agentPath.length > 0) {
    sent.set(callHeaders.agentPath, place.agentPath.map((name) => encodeURIComponent(name)).join('>'));
  }
  return sent;
}

function headerText(text: string): string {
  return /^[\x20-\x24\x26-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}
