import { parseJsonObject } from '@agentlightning/core/internal';
import { callingAgent } from '../capture/call-recorder.ts';
import { callWithFailover } from '../upstream/call-with-failover.ts';
import type { UpstreamResult } from '../upstream/send-to-upstream.ts';
import type { CallResponse } from '../wire/call-response.ts';
import { textOf } from '../wire/json-access.ts';
import { badRequest } from './bad-request.ts';
import { unknownDeployment } from './deployed-call.ts';
import type { IncomingCall, ModelCallServices } from './model-call-services.ts';

/** A request that is forwarded unchanged. */
export interface ForwardedRequest {
  /** Below the upstream's base URL. */
  readonly path: string;
  /** The model that selects the upstream; null for the default. */
  readonly model: string | null;
  readonly body: string;
}

/** Forwards a request and returns the upstream's response. @throws GatewayError when the upstream cannot be reached */
export async function forwardRequest(
  services: ModelCallServices,
  call: IncomingCall,
  request: ForwardedRequest,
): Promise<CallResponse> {
  const { upstream, response, text } = await fetchForwarded(services, call, request);
  return { status: response.status, headers: response.headers, body: upstream.withoutSecrets(text ?? '') };
}

/** Forwards a request. @throws GatewayError when the upstream cannot be reached */
export function fetchForwarded(
  services: ModelCallServices,
  call: IncomingCall,
  request: ForwardedRequest,
): Promise<UpstreamResult> {
  if (services.deployments !== null) throw unknownDeployment(request.model ?? '', services.deployments, 'forwarded');
  const upstreams = services.pool.choose(request.model, call.attempt, callingAgent(call.headers));
  return callWithFailover(services.upstreamServices, upstreams, {
    path: request.path,
    method: 'POST',
    headers: call.forwardedHeaders,
    body: request.body,
    adapted: null,
    signal: call.signal,
    isStreamed: false,
    isStreamable: false,
    observation: call.observation,
  });
}

/**
 * Forwards an embeddings request. It is not recorded, since nothing is sampled, and keeps its model: vectors of
 * different models are not comparable.
 *
 * @throws GatewayError when the upstream cannot be reached
 */
export async function createEmbeddings(services: ModelCallServices, call: IncomingCall): Promise<CallResponse> {
  const request = parseJsonObject(call.text);
  if (request === null) throw badRequest(null, 'the request body is not a JSON object', 'Send the body as JSON.');
  const model = textOf(request.model);
  call.observation.model = model;
  return await forwardRequest(services, call, { path: '/embeddings', model, body: call.text });
}
