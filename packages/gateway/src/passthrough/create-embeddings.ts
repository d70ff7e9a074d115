import { parseJsonObject } from '@agentlightning/core/internal';
import type { GatewayParts, IncomingCall } from '../gateway-parts.ts';
import type { CallResponse } from '../http/call-response.ts';
import { textOf } from '../http/json-access.ts';
import { badRequest } from '../model-api/bad-request.ts';
import { forwardRequest } from './forward-request.ts';

/**
 * Forwards an embeddings request. It is not recorded, since nothing is sampled, and keeps its model: vectors of
 * different models are not comparable.
 *
 * @throws GatewayError when the upstream cannot be reached
 */
export async function createEmbeddings(parts: GatewayParts, call: IncomingCall): Promise<CallResponse> {
  const request = parseJsonObject(call.text);
  if (request === null) throw badRequest(null, 'the request body is not a JSON object', 'Send the body as JSON.');
  const model = textOf(request.model);
  call.observation.model = model;
  return await forwardRequest(parts, call, { path: '/embeddings', model, body: call.text });
}
