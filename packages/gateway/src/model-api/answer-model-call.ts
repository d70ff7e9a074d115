import { type Attributes, type JsonObject, newSpanId, parseJsonObject } from '@agentlightning/core';
import type { CallingAttempt } from '../calling-attempt.ts';
import { callingAgent, startCall } from '../capture/call-recorder.ts';
import { chatCompletionsApi } from '../chat-completions/chat-completions-api.ts';
import type { GatewayParts, IncomingCall } from '../gateway-parts.ts';
import type { CallAnswer } from '../http/call-answer.ts';
import { textOf } from '../http/json-access.ts';
import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';
import { lacksApi, type TranslatableApi, translates } from './api-support.ts';
import { badRequest, unlessTooDeep } from './bad-request.ts';
import { CallPassage } from './call-passage.ts';
import type { TranslatedCall, Translation } from './translation.ts';
import type { UpstreamApi } from './upstream-api.ts';

/** A model API that agents may speak to the gateway. */
export interface ClientApi {
  /** What records call it. */
  readonly name: string;
  /** The same API at an upstream. */
  readonly native: UpstreamApi;
  /** For upstreams without it; null when there is no other way. */
  readonly translation: { readonly api: TranslatableApi; readonly by: Translation } | null;
}

/** A call that is about to be sent. */
interface ReadCall {
  readonly parts: GatewayParts;
  readonly call: IncomingCall;
  readonly attempt: CallingAttempt | null;
  readonly request: JsonObject;
  readonly upstreams: readonly RegisteredUpstream[];
  readonly startTimeMs: number;
}

/**
 * Answers a model call, streamed or not, and records it when it belongs to an attempt. Where the upstream does not
 * have the API that the agent speaks, the call goes there as one of Chat Completions.
 *
 * @throws GatewayError when it is not answered with the model's words
 */
export async function answerModelCall(api: ClientApi, parts: GatewayParts, call: IncomingCall): Promise<CallAnswer> {
  const startTimeMs = parts.caller.clock.now();
  const request = parseJsonObject(call.text);
  if (request === null) throw badRequest(null, 'the request body is not a JSON object', 'Send the body as JSON.');
  const attempt = await parts.directory.find(call.attempt);
  const all = parts.pool.choose(textOf(request.model), attempt?.rolloutId ?? null, callingAgent(call.headers));
  const [first] = all;
  const { translation } = api;
  const read = { parts, call, attempt, request, startTimeMs };
  if (translation === null) {
    const passage = await unlessTooDeep(() => natively(api, { ...read, upstreams: all }));
    return await passage.answer();
  }
  const isTranslated = first !== undefined && translates(first, translation.api);
  const upstreams = all.filter((upstream) => translates(upstream, translation.api) === isTranslated);
  if (!isTranslated) {
    const passage = await unlessTooDeep(() => natively(api, { ...read, upstreams }));
    const { result } = await passage.send();
    if (!lacksApi(result, translation.api)) return await passage.answerWith(result);
  }
  const passage = await unlessTooDeep(() => translated(api, translation.by, { ...read, upstreams }));
  return await passage.answer();
}

function natively(api: ClientApi, read: ReadCall): CallPassage {
  const { request, call } = read;
  const way = { api: api.native, request, requestText: call.text, translated: null };
  return passageOf(api, read, { ...way, spanId: newSpanId(), attributes: {} });
}

async function translated(api: ClientApi, by: Translation, read: ReadCall): Promise<CallPassage> {
  const spanId = newSpanId();
  const begun = await by.begin(read.request, {
    attempt: read.attempt,
    stem: newSpanId() + spanId,
    requestLength: read.call.text.length,
    conversations: read.parts.conversations,
  });
  const request = begun.chatRequest;
  return passageOf(api, read, {
    api: chatCompletionsApi,
    request,
    requestText: JSON.stringify(request),
    translated: { call: begun, refusal: by.refusal },
    spanId,
    attributes: begun.attributes,
  });
}

/** How a call goes to the upstream. */
interface Way {
  readonly api: UpstreamApi;
  readonly request: JsonObject;
  readonly requestText: string;
  readonly translated: { readonly call: TranslatedCall; readonly refusal: Translation['refusal'] } | null;
  readonly spanId: string;
  readonly attributes: Attributes;
}

function passageOf({ name }: ClientApi, read: ReadCall, way: Way): CallPassage {
  const { parts, call, attempt, upstreams, startTimeMs } = read;
  const { request, requestText, spanId, attributes } = way;
  const [upstream] = upstreams;
  if (upstream === undefined) throw badRequest(null, 'no upstream is there to send the call to');
  const sampling = (attempt?.mode && parts.sampling[attempt.mode]) || {};
  const prepared = way.api.prepare(request, { upstream, attempt, sampling });
  call.observation.model = prepared.model;
  const started =
    attempt === null
      ? null
      : startCall({ attempt, spanId, api: name, request, requestText, attributes, startTimeMs }, call.headers);
  return new CallPassage({ parts, call, started, prepared, upstreams, api: way.api, translated: way.translated });
}
