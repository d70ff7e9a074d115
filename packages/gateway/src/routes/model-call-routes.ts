import { engines } from '@agentlightning/core/internal';
import { completionsApi } from '../completions/completions-api.ts';
import { generateApi } from '../completions/generate-api.ts';
import { countTokens } from '../messages/count-tokens.ts';
import { messageErrorBody } from '../messages/message-error.ts';
import { messagesApi } from '../messages/messages-api.ts';
import { chatCompletionsApi } from '../model-api/chat-completions-api.ts';
import { createEmbeddings } from '../model-api/forward-request.ts';
import type { IncomingCall, ModelCallServices } from '../model-api/model-call-services.ts';
import { type ClientApi, proxyModelCall } from '../model-api/proxy-model-call.ts';
import { responsesApi } from '../responses/responses-api.ts';
import type { CallResponse, WholeResponse } from '../wire/call-response.ts';
import type { GatewayError } from '../wire/gateway-error.ts';

/** A POST route of the gateway that proxies model calls. */
export interface ModelCallRoute {
  /** The name of its API in metrics and logs. */
  readonly name: string;
  /** Below a base URL. */
  readonly path: string;
  /** Further paths of the same route. @default none */
  readonly otherPaths?: readonly string[];
  /** Proxies a call. @throws GatewayError when there is no response of a model */
  readonly respond: (services: ModelCallServices, call: IncomingCall) => Promise<CallResponse>;
  /** The body of an error response. @default in OpenAI's format */
  readonly errorBody?: (error: GatewayError) => string;
}

/** All routes of model calls. */
export const modelCallRoutes: readonly ModelCallRoute[] = [
  routeOf({ name: 'chat-completions', native: chatCompletionsApi, translation: null }),
  routeOf({ name: 'completions', native: completionsApi, translation: null }),
  // vLLM has it next to `/v1`.
  { ...routeOf({ name: 'generate', native: generateApi, translation: null }), path: engines.vllm.routes.generate },
  routeOf(responsesApi),
  // Anthropic's clients append /v1 to a base URL that already ends with it.
  { ...routeOf(messagesApi), otherPaths: ['/v1/messages'], errorBody: messageErrorBody },
  {
    name: 'count-tokens',
    path: '/messages/count_tokens',
    otherPaths: ['/v1/messages/count_tokens'],
    respond: countTokens,
    errorBody: messageErrorBody,
  },
  { name: 'embeddings', path: '/embeddings', respond: createEmbeddings },
];

function routeOf(api: ClientApi): ModelCallRoute {
  return { name: api.name, path: api.native.path, respond: (services, call) => proxyModelCall(api, services, call) };
}

/** The response to a failed request, in the format of the API that its path names. */
export function errorResponse(path: string, error: GatewayError): WholeResponse {
  const route = modelCallRoutes.find((known) => path.endsWith(known.path));
  const headers = { 'content-type': 'application/json', ...error.headers };
  return { status: error.httpStatus, headers, body: route?.errorBody?.(error) ?? error.toBody() };
}
