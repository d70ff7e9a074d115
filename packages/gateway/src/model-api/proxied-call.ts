import { Readable } from 'node:stream';
import type { JsonObject } from '@agentlightning/core';
import { CapturedResponse, errorMessageOf, parseJsonObject } from '@agentlightning/core/internal';
import { headerNames } from '@agentlightning/core/protocol';
import type { EndedCall, StartedCall } from '../capture/call-recorder.ts';
import { callWithFailover } from '../upstream/call-with-failover.ts';
import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';
import { plainDialect } from '../upstream/request-dialect.ts';
import type { UpstreamResult } from '../upstream/send-to-upstream.ts';
import { upstreamErrored, upstreamMessage } from '../upstream/upstream-failure.ts';
import type { CallResponse } from '../wire/call-response.ts';
import { GatewayError, type UpstreamErrorResponse } from '../wire/gateway-error.ts';
import type { GatewayLog } from '../wire/gateway-options.ts';
import { adaptedChanges } from './adapted-messages.ts';
import type { IncomingCall, ModelCallServices } from './model-call-services.ts';
import type { PreparedRequest, RequestBodies } from './prepared-request.ts';
import { type CapturedStream, relayStream } from './relay-stream.ts';
import { continuedChange, isPromptOf, promptFields, refusesPrompt } from './token-continuity.ts';
import { streamOfWhole, TranslatedStreamConverter } from './translated-stream-converter.ts';
import type { TranslatedCall, Translation } from './translation.ts';
import type { UpstreamApi } from './upstream-api.ts';
import { withCalledModel } from './visible-response.ts';

/** The parts of a {@link ProxiedCall}. */
export interface ProxiedCallOptions {
  readonly services: ModelCallServices;
  readonly call: IncomingCall;
  /** Null for a call that is not recorded. */
  readonly started: StartedCall | null;
  readonly prepared: PreparedRequest;
  /** Candidate upstreams, the preferred one first. */
  readonly upstreams: readonly RegisteredUpstream[];
  /** The API of the request to the upstream. */
  readonly api: UpstreamApi;
  /** Null when that is the client's API. */
  readonly translated: { readonly call: TranslatedCall; readonly errorBody: Translation['errorBody'] } | null;
}

/** One call that is sent to an upstream, returned to the client, and recorded if it belongs to an attempt. */
export class ProxiedCall {
  readonly #options: ProxiedCallOptions;
  /** The prompt that was sent as token ids instead of the messages; null for none. */
  #sentPrompt: readonly number[] | null = null;

  constructor(options: ProxiedCallOptions) {
    this.#options = options;
  }

  /** Sends the call and responds to it. @throws GatewayError when there is no response of a model */
  async respond(): Promise<CallResponse> {
    return await this.respondWith(await this.send());
  }

  /** Sends the call. @throws GatewayError when no upstream responds; the failure is recorded */
  async send(): Promise<UpstreamResult> {
    try {
      return (await this.#sendContinued()) ?? (await this.#sendBodies(this.#options.prepared));
    } catch (error) {
      return this.#failed(error);
    }
  }

  #sendBodies({ body, adapted }: RequestBodies): Promise<UpstreamResult> {
    const { services, call, prepared, upstreams, api } = this.#options;
    return callWithFailover(services.upstreamServices, upstreams, {
      path: api.path,
      method: 'POST',
      headers: call.forwardedHeaders,
      body,
      adapted,
      signal: call.signal,
      isStreamed: prepared.isStreamed,
      isStreamable: true,
      observation: call.observation,
    });
  }

  /** Sends the prompt as token ids that continue an earlier turn. @returns null when there is no such prompt, or it is refused */
  async #sendContinued(): Promise<UpstreamResult | null> {
    const { services, call, started, prepared, upstreams } = this.#options;
    const [upstream] = upstreams;
    const { withFields, requestsTokens, model } = prepared;
    if (started === null || upstream === undefined || withFields === undefined || !requestsTokens) return null;
    const { forwardedHeaders: headers, signal } = call;
    const prompt = await services.continuity.promptOf({ started, upstream, model, headers, signal });
    if (prompt === null) return null;
    const result = await this.#sendBodies(withFields(promptFields(prompt, started.request)));
    // Prompts with the reasoning of earlier turns may be too long where those without it are not.
    if (result.response.status >= 400) {
      if (refusesPrompt(result.text ?? '')) services.continuity.refused(result.upstream, upstreamMessage(result));
      return null;
    }
    this.#sentPrompt = prompt;
    return result;
  }

  /** Responds with the response of an upstream. @throws GatewayError when that is not a response of a model */
  async respondWith(result: UpstreamResult): Promise<CallResponse> {
    try {
      const { body, status } = result.response;
      if (typeof body !== 'string') return this.#streamed(result, body);
      if (status === 404 && result.upstream.model !== null)
        throw upstreamErrored({ ...result, text: body }, 'for its model');
      if (status >= 400) return this.#refused(result, body);
      return await this.#whole(result, body);
    } catch (error) {
      return this.#failed(error);
    }
  }

  async #whole(result: UpstreamResult, text: string): Promise<CallResponse> {
    const { started, prepared, api, translated } = this.#options;
    const { status, headers } = result.response;
    if (started === null && translated === null && !prepared.isStreamed) return { status, headers, body: text };
    const given = parseJsonObject(text);
    if (given === null) {
      if (prepared.isStreamed && isEventStream(text)) return this.#streamed(result, Readable.from([Buffer.from(text)]));
      if (started === null && translated === null) return { status, headers, body: text };
      throw notJson(result);
    }
    if (api.path.endsWith('/completions') && reportsError(given)) throw reportedError(result);
    const body = api.standard(given);
    const visible = api.visible(body, prepared.added);
    const visibleText = visible === given ? text : JSON.stringify(visible);
    if (started !== null) await this.#record(started, result, { body, visible, visibleText });
    const sent =
      translated === null
        ? this.#native(visible, visibleText)
        : this.#translated(translated.call, withCalledModel(body, prepared.added));
    return { status, headers: this.#headers({ ...headers, ...sent.headers }), body: sent.body };
  }

  /** The response in the client's API; as a stream if the client requested one and the upstream does not stream. */
  #native(visible: JsonObject, text: string): Pick<CallResponse, 'headers'> & { readonly body: string } {
    const { prepared, api } = this.#options;
    const stream = prepared.isStreamed ? api.streamOfWhole?.(visible, prepared.added) : undefined;
    if (stream === undefined) return { headers: jsonHeaders, body: text };
    return { headers: eventHeaders, body: stream };
  }

  #translated(call: TranslatedCall, body: JsonObject): Pick<CallResponse, 'headers'> & { readonly body: string } {
    if (!this.#options.prepared.isStreamed) return { headers: jsonHeaders, body: JSON.stringify(call.whole(body)) };
    return { headers: eventHeaders, body: streamOfWhole(call.stream(), body) };
  }

  async #record(
    started: StartedCall,
    result: UpstreamResult,
    seen: { readonly body: JsonObject; readonly visible: JsonObject; readonly visibleText: string },
  ): Promise<void> {
    const { prepared, api } = this.#options;
    const captured = captureOf(result, prepared);
    api.capture(seen.body, captured);
    const isRecordedAsSeen = prepared.added.tokenIds && prepared.added.logprobs;
    const allTokens = { tokenIds: true, logprobs: true, usage: false };
    await this.#recordComplete(started, result, {
      ...this.#ended(captured, result),
      response: isRecordedAsSeen ? seen.visible : api.visible(seen.body, allTokens),
      ...(isRecordedAsSeen ? { responseText: seen.visibleText } : {}),
      firstByteTimeMs: result.response.firstByteTimeMs,
      failure: null,
    });
  }

  async #recordComplete(started: StartedCall, { upstream }: UpstreamResult, ended: EndedCall): Promise<void> {
    const { upstreamServices, recorder, continuity, sampledArguments } = this.#options.services;
    if (ended.parameters.requestsTokens) noteTokenSupport(upstream, ended.captured, upstreamServices.log);
    continuity.ended(started, ended, { upstream, sentPrompt: this.#sentPrompt });
    sampledArguments.remember(started, ended);
    await recorder.record(started, ended);
  }

  #streamed(result: UpstreamResult, body: Readable): CallResponse {
    const { call } = this.#options;
    const { status, headers } = result.response;
    const stream = { body, address: result.upstream.baseUrl, signal: call.signal, ...this.#captured(result) };
    return {
      status,
      headers: this.#headers({ ...headers, ...eventHeaders }),
      body: (send) => relayStream(stream, send),
    };
  }

  #captured(result: UpstreamResult): Pick<CapturedStream, 'stream' | 'record' | 'recordFailed'> {
    const { services, prepared, started, api, translated } = this.#options;
    const captured = captureOf(result, prepared);
    const ended = (response: JsonObject, failure: string | null): EndedCall => ({
      ...this.#ended(captured, result),
      response,
      firstByteTimeMs: result.response.firstByteTimeMs,
      failure,
    });
    return {
      stream:
        translated === null
          ? api.stream(captured, prepared.added)
          : new TranslatedStreamConverter(captured, translated.call.stream(), prepared.added),
      record: async (response) => {
        if (started !== null) await this.#recordComplete(started, result, ended(response, null));
      },
      recordFailed: (failure, response) => {
        if (started !== null) services.recorder.recordFailed(started, ended(response, failure));
      },
    };
  }

  /** The upstream's message about a bad request is returned to the agent, without the secrets it may repeat. */
  #refused(result: UpstreamResult, body: string): CallResponse {
    const { status, headers } = result.response;
    const text = result.upstream.withoutSecrets(body);
    const detail = upstreamMessage(result);
    const failure = `the model endpoint returned ${status}${detail}`;
    this.#recordFailure(failure, { status, body: parseJsonObject(text) });
    const { translated } = this.#options;
    const message = detail === '' ? failure : detail.slice(': '.length);
    return {
      status,
      headers: translated === null ? headers : { ...headers, 'content-type': 'application/json' },
      body: translated === null ? text : translated.errorBody(status, message),
    };
  }

  #failed(error: unknown): never {
    const known = GatewayError.from(error);
    // The store has just rejected a record, so its failure is not recorded.
    if (known.type !== 'store_unavailable') this.#recordFailure(known.message, known.upstreamResponse);
    throw known;
  }

  #recordFailure(failure: string, from: UpstreamErrorResponse | null): void {
    const { services, started } = this.#options;
    if (started === null) return;
    const ended = this.#ended(new CapturedResponse(), null);
    services.recorder.recordFailed(started, {
      ...ended,
      response: from?.body ?? null,
      firstByteTimeMs: null,
      httpStatus: from?.status ?? null,
      failure,
    });
  }

  #ended(
    captured: CapturedResponse,
    result: UpstreamResult | null,
  ): Omit<EndedCall, 'response' | 'firstByteTimeMs' | 'failure'> {
    const { services, prepared, translated, started } = this.#options;
    const dialect = result?.dialect ?? plainDialect;
    return {
      parameters: { ...prepared, requestsTokens: prepared.requestsTokens && dialect.tokens !== 'none' },
      changes: isPromptOf(captured, this.#sentPrompt)
        ? [continuedChange]
        : adaptedChanges(started?.request ?? {}, dialect),
      captured,
      responseId: translated === null || result === null ? captured.responseId : translated.call.responseId,
      endTimeMs: services.upstreamServices.clock.now(),
      httpStatus: result?.response.status ?? null,
      endpoint: result?.upstream.baseUrl ?? null,
    };
  }

  #headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const { started } = this.#options;
    return started === null ? headers : { ...headers, [headerNames.spanId]: started.spanId };
  }
}

/** Proxies lose the type of a body. */
const jsonHeaders = { 'content-type': 'application/json' };
const eventHeaders = { 'content-type': 'text/event-stream' };

/** Whether a text is a stream of events whose type was lost. */
function isEventStream(text: string): boolean {
  return /^\s*(?:data|event|id):/.test(text);
}

/** Whether a body of Chat Completions or Completions is an error, which has the status 200 at some vendors. */
function reportsError(body: JsonObject): boolean {
  const isChoiceless = !Array.isArray(body.choices) || body.choices.length === 0;
  return Boolean(errorMessageOf(isChoiceless ? body : { error: body.error ?? null }));
}

function captureOf(result: UpstreamResult, { promptTokenIds }: PreparedRequest): CapturedResponse {
  const captured = new CapturedResponse();
  if (promptTokenIds !== undefined) captured.add({ prompt_token_ids: promptTokenIds });
  const version = result.response.headers[headerNames.policyVersion];
  captured.addPolicyVersion(version !== undefined && /^\d+$/.test(version) ? Number(version) : null);
  return captured;
}

function notJson({ upstream, response: { status } }: UpstreamResult): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${upstream.baseUrl} returned ${status} with a body that is not a JSON object`,
    remedy: 'Check that the upstream’s base URL is that of an OpenAI-compatible API, up to and with /v1.',
  });
}

/** Some vendors return an error with status 200. */
function reportedError(result: UpstreamResult): GatewayError {
  const { upstream, response } = result;
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${upstream.baseUrl} returned ${response.status} with an error${upstreamMessage(result)}`,
  });
}

/** Learns from a complete response to a request for token ids whether an upstream has them, and warns once when it does not. */
function noteTokenSupport(
  upstream: RegisteredUpstream,
  captured: Pick<CapturedResponse, 'promptTokenIds' | 'choices'>,
  log: GatewayLog,
): void {
  if (upstream.capture === 'text') return;
  const isGiven =
    captured.promptTokenIds.length > 0 || captured.choices.some((choice) => choice.responseTokenIds.length > 0);
  const support = isGiven ? 'given' : 'missing';
  if (upstream.tokenSupport === support) return;
  warnIfMissing(upstream, support, log);
  upstream.tokenSupport = support;
}

function warnIfMissing(upstream: RegisteredUpstream, support: 'given' | 'missing', log: GatewayLog): void {
  if (support === 'given') return;
  const message = 'a model endpoint returns no token ids; its calls cannot be trained on';
  const remedy = 'Use an engine that supports return_token_ids (vLLM 0.10.2 or later), or set capture: text.';
  log.warn({ upstream: upstream.id, remedy }, message);
}
