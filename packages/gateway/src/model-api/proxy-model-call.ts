import type { Attributes, JsonObject } from '@agentlightning/core';
import { modelCallAttributes } from '@agentlightning/core/internal';
import { newSpanId } from '@agentlightning/core/store';
import type { CallingAttempt } from '../attempts/calling-attempt.ts';
import { callingAgent, startCall } from '../capture/call-recorder.ts';
import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';
import type { UpstreamResult } from '../upstream/send-to-upstream.ts';
import type { CallResponse } from '../wire/call-response.ts';
import { parseRequest, textOf } from '../wire/json-access.ts';
import { badRequest, unlessTooDeep } from './bad-request.ts';
import { chatCompletionsApi } from './chat-stream.ts';
import { callDeployment } from './deployed-call.ts';
import type { IncomingCall, ModelCallServices } from './model-call-services.ts';
import { ProxiedCall } from './proxied-call.ts';
import { restoredChange } from './sampled-arguments.ts';
import type { TranslatedCall, Translation } from './translation.ts';
import type { UpstreamApi } from './upstream-api.ts';

/** A model API for agents. */
export interface ClientApi {
  /** Name in records. */
  readonly name: string;
  /** The upstream's side of the same API. */
  readonly native: UpstreamApi;
  /** Translation for upstreams without the API; null if unsupported. */
  readonly translation: { readonly api: TranslatableApi; readonly by: Translation } | null;
}

/** A call that is about to be sent. */
interface ReadCall {
  readonly services: ModelCallServices;
  readonly call: IncomingCall;
  readonly attempt: CallingAttempt | null;
  readonly request: JsonObject;
  readonly upstreams: readonly RegisteredUpstream[];
  readonly startTimeMs: number;
}

/**
 * Proxies a model call, streamed or not, and records it if it belongs to an attempt. For an upstream without the
 * agent's API, the call is translated to Chat Completions.
 *
 * @throws GatewayError when there is no response of a model
 */
export async function proxyModelCall(
  api: ClientApi,
  services: ModelCallServices,
  call: IncomingCall,
): Promise<CallResponse> {
  const startTimeMs = services.upstreamServices.clock.now();
  const request = parseRequest(call.text);
  if (request === null) throw badRequest(null, 'the request body is not a JSON object', 'Send the body as JSON.');
  if (services.deployments !== null) {
    return await callDeployment(services.deployments, { services, call, request }, (to) =>
      proxied(api, { call, request, startTimeMs, ...to }),
    );
  }
  const attempt = await services.directory.find(call.attempt);
  try {
    const upstreams = services.pool.choose(textOf(request.model), attempt, callingAgent(call.headers));
    const response = await proxied(api, { services, call, attempt, request, upstreams, startTimeMs });
    if (response.status >= 400) attempt?.giveBackIndex();
    return response;
  } catch (error) {
    attempt?.giveBackIndex();
    throw error;
  }
}

async function proxied(api: ClientApi, read: ReadCall): Promise<CallResponse> {
  const all = read.upstreams;
  const [first] = all;
  const { translation } = api;
  if (translation === null) {
    const native = await unlessTooDeep(() => natively(api, read));
    return await native.respond();
  }
  const isTranslated = first !== undefined && translates(first, translation.api);
  const upstreams = all.filter((upstream) => translates(upstream, translation.api) === isTranslated);
  if (!isTranslated) {
    const native = await unlessTooDeep(() => natively(api, { ...read, upstreams }));
    const result = await native.send();
    if (!lacksApi(result, translation.api)) return await native.respondWith(result);
  }
  const other = await unlessTooDeep(() => translated(api, translation.by, { ...read, upstreams }));
  return await other.respond();
}

function natively(api: ClientApi, read: ReadCall): ProxiedCall {
  const { request } = read;
  const outgoing = { api: api.native, request, translated: null };
  return proxiedCall(api, read, { ...outgoing, spanId: newSpanId(), attributes: {} });
}

async function translated(api: ClientApi, by: Translation, read: ReadCall): Promise<ProxiedCall> {
  const spanId = newSpanId();
  const begun = await by.begin(read.request, {
    attempt: read.attempt,
    stem: newSpanId() + spanId,
    requestLength: read.call.text.length,
    conversations: read.services.conversations,
  });
  return proxiedCall(api, read, {
    api: chatCompletionsApi,
    request: begun.chatRequest,
    translated: { call: begun, errorBody: by.errorBody },
    spanId,
    attributes:
      begun.changes.length === 0
        ? begun.attributes
        : { ...begun.attributes, [modelCallAttributes.requestChanges]: begun.changes },
  });
}

/** The request to the upstream. */
interface OutgoingRequest {
  readonly api: UpstreamApi;
  readonly request: JsonObject;
  readonly translated: { readonly call: TranslatedCall; readonly errorBody: Translation['errorBody'] } | null;
  readonly spanId: string;
  readonly attributes: Attributes;
}

function proxiedCall({ name }: ClientApi, read: ReadCall, outgoing: OutgoingRequest): ProxiedCall {
  const { services, call, attempt, upstreams, startTimeMs } = read;
  const { spanId } = outgoing;
  const { request, requestText, attributes } = restored(read, outgoing);
  const [upstream] = upstreams;
  if (upstream === undefined) throw badRequest(null, 'no upstream can take the call');
  const sampling = (attempt?.mode && (upstream.given.sampling ?? services.sampling)[attempt.mode]) || {};
  const prepared = outgoing.api.prepare(request, { upstream, attempt, sampling });
  call.observation.model = prepared.model;
  const started =
    attempt === null
      ? null
      : startCall({ attempt, spanId, api: name, request, requestText, attributes, startTimeMs }, call.headers);
  return new ProxiedCall({
    services,
    call,
    started,
    prepared,
    upstreams,
    api: outgoing.api,
    translated: outgoing.translated,
  });
}

/** The request with the arguments of its tool calls as they were sampled, its JSON, and its marks. */
function restored(
  { services, call, attempt }: ReadCall,
  { request: given, translated, attributes }: OutgoingRequest,
): { readonly request: JsonObject; readonly requestText: string; readonly attributes: Attributes } {
  const request = services.sampledArguments.restore(attempt, given);
  if (translated !== null) return { request, requestText: JSON.stringify(request), attributes };
  if (request === given) return { request, requestText: call.text, attributes };
  const changes = { ...attributes, [modelCallAttributes.requestChanges]: [restoredChange] };
  return { request, requestText: JSON.stringify(request), attributes: changes };
}

/** An optional API of an upstream. */
export type TranslatableApi = 'responses' | 'messages';

/**
 * Whether calls of an API are sent to an upstream as Chat Completions.
 *
 * The upstream's `apis` decide if set. Otherwise an upstream with `capture: 'tokens'` gets Chat Completions, the only API
 * that returns token ids; any other gets the agent's API until it was found to lack it.
 */
export function translates(upstream: RegisteredUpstream, api: TranslatableApi): boolean {
  const { apis } = upstream.given;
  if (apis !== undefined) return !apis.includes(api);
  return upstream.capture === 'tokens' || upstream.lackedApis.has(api);
}

/** Whether a response shows that the upstream lacks an API; remembers the result. */
export function lacksApi({ upstream, response: { status }, text }: UpstreamResult, api: TranslatableApi): boolean {
  if (upstream.given.apis !== undefined) return false;
  // An unknown model is a 404 as well, but shows that the API exists.
  const isLacking = status === 405 || status === 501 || (status === 404 && !/model/i.test(text ?? ''));
  if (isLacking) upstream.lackedApis.add(api);
  return isLacking;
}
