import { parseJsonObject } from '@agentlightning/core';
import type { GatewayParts, IncomingCall } from '../gateway-parts.ts';
import type { CallAnswer } from '../http/call-answer.ts';
import { textOf } from '../http/json-access.ts';
import { badRequest } from '../model-api/bad-request.ts';
import { passThrough } from './pass-through.ts';

/**
 * Passes a request for embeddings on. Nothing is sampled there, so nothing is recorded.
 *
 * Unlike a chat, it keeps the model that it asks for: vectors of another one would be worth nothing.
 *
 * @throws GatewayError when the upstream cannot be reached
 */
export async function answerEmbeddings(parts: GatewayParts, call: IncomingCall): Promise<CallAnswer> {
  const request = parseJsonObject(call.text);
  if (request === null) throw badRequest(null, 'the request body is not a JSON object', 'Send the body as JSON.');
  const model = textOf(request.model);
  call.observation.model = model;
  const response = await passThrough(parts, call, { path: '/embeddings', model, body: call.text });
  call.leave();
  return response;
}
