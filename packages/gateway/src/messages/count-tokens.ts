import type { JsonObject } from '@agentlightning/core';
import { parseJsonObject, tokenizeRoute } from '@agentlightning/core/internal';
import { callingAgent } from '../capture/call-recorder.ts';
import { badRequest, unlessTooDeep } from '../model-api/bad-request.ts';
import { type ForwardedRequest, fetchForwarded, forwardRequest } from '../model-api/forward-request.ts';
import type { IncomingCall, ModelCallServices } from '../model-api/model-call-services.ts';
import { translates } from '../model-api/proxy-model-call.ts';
import type { CallResponse } from '../wire/call-response.ts';
import { GatewayError } from '../wire/gateway-error.ts';
import { numberOf, parseRequest, textOf } from '../wire/json-access.ts';
import { chatRequestOf } from './chat-request.ts';

/**
 * Counts the tokens of a Messages request: with the upstream's Messages API, else with the `/tokenize` of vLLM and
 * SGLang.
 *
 * @throws GatewayError 404 when the upstream has neither
 */
export async function countTokens(services: ModelCallServices, call: IncomingCall): Promise<CallResponse> {
  const request = parseRequest(call.text);
  if (request === null) throw badRequest(null, 'the request body is not a JSON object', 'Send the body as JSON.');
  const requested = textOf(request.model);
  const [upstream] = services.pool.choose(requested, call.attempt, callingAgent(call.headers));
  const model = upstream?.model ?? requested;
  call.observation.model = model;
  if (upstream !== undefined && !translates(upstream, 'messages')) {
    const body = await unlessTooDeep(() => JSON.stringify({ ...request, model }));
    return await forwardRequest(services, call, { path: '/messages/count_tokens', model: requested, body });
  }
  const body = await unlessTooDeep(() => tokenizeBody({ ...chatRequestOf(request), model }));
  const count = await countOf(services, call, { model, body });
  const headers = { 'content-type': 'application/json' };
  return { status: 200, headers, body: JSON.stringify({ input_tokens: count }) };
}

function tokenizeBody({ model, messages, tools }: JsonObject): string {
  return JSON.stringify({ model, messages, tools });
}

async function countOf(
  services: ModelCallServices,
  call: IncomingCall,
  request: Pick<ForwardedRequest, 'model' | 'body'>,
): Promise<number> {
  // Next to the API's root, not below it.
  const { text } = await fetchForwarded(services, call, { path: `/..${tokenizeRoute}`, ...request });
  const count = numberOf(parseJsonObject(text ?? '')?.count);
  if (count !== null) return count;
  throw new GatewayError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    type: 'not_found_error',
    message: 'the model endpoint does not count tokens',
    remedy: 'Make the call without counting first; its response has the token counts.',
  });
}
