/**
 * The whole life of a model call: it takes its slot among the calls in flight with `using`, and frees it however the call ends.
 * An earlier direct path past the routes saved processor time, and was a second implementation of access checks, body limits,
 * errors, aborts and backpressure.
 *
 * A streamed body is an async function that sends chunks to a `ResponseStream`. `stream.pipeline` cannot hold the end of a
 * stream back until the call is recorded, and cannot end a broken stream with an error event. An async generator is not resumed
 * while its reader stalls, so an aborted call would keep its slot.
 *
 * @module
 */
import { engines, traceActivity } from '@agentlightning/core/internal';
import { attemptAddressOf } from '../access/attempt-address.ts';
import type { AttemptAddress } from '../attempts/calling-attempt.ts';
import { clientDisconnected } from '../attempts/calls-in-flight.ts';
import { completionsApi } from '../completions/completions-api.ts';
import { generateApi } from '../completions/generate-api.ts';
import { countTokens } from '../messages/count-tokens.ts';
import { messageErrorBody } from '../messages/message-error.ts';
import { messagesApi } from '../messages/messages-api.ts';
import { chatCompletionsApi } from '../model-api/chat-stream.ts';
import { createEmbeddings } from '../model-api/forward-request.ts';
import type { IncomingCall, ModelCallServices } from '../model-api/model-call-services.ts';
import { type ClientApi, proxyModelCall } from '../model-api/proxy-model-call.ts';
import { responsesApi } from '../responses/responses-api.ts';
import { CallObservation } from '../wire/call-observation.ts';
import { type CallResponse, toResponse, toStreamedResponse, type WholeResponse } from '../wire/call-response.ts';
import { forwardedHeaders } from '../wire/forwarded-headers.ts';
import { GatewayError } from '../wire/gateway-error.ts';
import { assertNotEncoded, bodyBytes, requestText } from '../wire/request-body.ts';
import { ResponseStream } from '../wire/response-stream.ts';
import type { CallReport } from './call-observer.ts';
import type { GatewayContext, RouteOptions } from './route-options.ts';

/** The header of a request's id in responses of Anthropic's API. */
const anthropicRequestIdHeader = 'request-id';

/** Handles the requests of a model API: each is admitted, proxied and recorded. */
export function modelCallHandler(
  options: RouteOptions,
  route: ModelCallRoute,
): (context: GatewayContext) => Promise<Response> {
  const { clock } = options.services.upstreamServices;
  return (context) => {
    const { requestId } = context.var;
    const observation = new CallObservation({ requestId, api: route.name, startTimeMs: clock.now() });
    const report = options.observer.follow(observation);
    return new Promise<Response>((resolve, reject) => {
      const exchange = { options, route, context, observation, report, respond: resolve };
      // Once a response has begun, a rejection has no effect.
      handle(exchange).catch((error: unknown) => {
        // The client has closed the connection, so the response is never read.
        const response = context.req.raw.signal.aborted ? new Response('', { status: 499 }) : null;
        const known = response === null ? GatewayError.from(error) : null;
        report.responded(known?.httpStatus ?? 499, known ?? undefined);
        if (response === null) reject(error);
        else resolve(response);
      });
    });
  };
}

interface Exchange {
  readonly options: RouteOptions;
  readonly route: ModelCallRoute;
  readonly context: GatewayContext;
  readonly observation: CallObservation;
  readonly report: CallReport;
  readonly respond: (response: Response) => void;
}

/** Handles a call: admits, proxies, records and releases it. */
async function handle(exchange: Exchange): Promise<void> {
  const { observation, report, route } = exchange;
  const ids = { api: route.name, request_id: observation.requestId };
  const endResponse = await traceActivity('gateway.call', ids, async ({ attributes }) => {
    const end = await proxyAdmitted(exchange).finally(report.left);
    if (observation.attempt !== null) attributes['attempt_id'] = observation.attempt.attemptId;
    return end;
  });
  endResponse();
}

/**
 * Proxies a call while it holds its slot among the calls in flight.
 *
 * @returns sends the whole response, or the end of a streamed one; to be called once the slot is free
 */
async function proxyAdmitted(exchange: Exchange): Promise<() => void> {
  const { options, route, context, observation, report, respond } = exchange;
  const { headers, signal } = context.req.raw;
  const attempt = await attemptOf(options, context);
  observation.attempt = attempt;
  assertNotEncoded(headers);
  if (attempt !== null) options.watch.begin();
  const bytes = bodyBytes(context.req.raw);
  using call = options.calls.begin({ attempt, client: signal, startTimeMs: observation.startTimeMs, bytes });
  using _admission = await options.gate.enter(call.signal);
  const response = await route.respond(options.services, {
    attempt,
    headers,
    forwardedHeaders: forwardedHeaders(headers, {
      requestId: observation.requestId,
      names: options.forwardedNames,
    }),
    text: await requestText(context),
    signal: call.signal,
    observation,
  });
  report.responded(response.status);
  const identified = {
    ...response,
    headers: { [anthropicRequestIdHeader]: observation.requestId, ...response.headers },
  };
  const { body } = response;
  if (typeof body === 'string') return () => respond(toResponse({ ...identified, body }));
  const stream = new ResponseStream(call.signal, () => call.abort(clientDisconnected()));
  respond(toStreamedResponse(identified, stream));
  try {
    const last = await body(stream.send);
    return () => stream.end(last);
  } catch (error) {
    options.log.error({ requestId: observation.requestId, err: error }, 'a stream failed');
    return () => stream.fail(error);
  }
}

async function attemptOf(options: RouteOptions, context: GatewayContext): Promise<AttemptAddress | null> {
  const address = attemptAddressOf({
    param: (name) => context.req.param(name),
    headers: context.req.raw.headers,
    caller: context.var.caller,
    requiresToken: options.access.hasTokens,
  });
  if (address === null || options.aglServer === null) return address;
  // Controllers of 1.0 name every attempt `0`; the store has its own ids.
  return { ...address, attemptId: await options.aglServer.attemptIdOf(address) };
}

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
