import { CapturedAnswer, isJsonObject, type JsonObject, parseJsonObject } from '@agentlightning/core';
import { callHeaders, type EndedCall, type StartedCall } from '../capture/call-recorder.ts';
import { parseAnswer } from '../chat-completions/parse-answer.ts';
import type { PreparedRequest } from '../chat-completions/prepared-request.ts';
import { GatewayError } from '../gateway-error.ts';
import type { GatewayParts, IncomingCall } from '../gateway-parts.ts';
import type { CallAnswer } from '../http/call-answer.ts';
import { PassedStream } from '../http/passed-stream.ts';
import { endWith } from '../http/pulled-stream.ts';
import { callUpstream, type UpstreamResult } from '../upstream/call-upstream.ts';
import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';
import { wordsOf } from '../upstream/upstream-failure.ts';
import type { UpstreamStream } from '../upstream/upstream-stream.ts';
import { CapturedStream } from './captured-stream.ts';
import { streamOfWhole, TranslatedAnswerStream } from './translated-answer-stream.ts';
import type { TranslatedCall, Translation } from './translation.ts';
import type { UpstreamApi } from './upstream-api.ts';

/** What a passage is made of. */
export interface CallPassageOptions {
  readonly parts: GatewayParts;
  readonly call: IncomingCall;
  /** Null for a call that is not recorded. */
  readonly started: StartedCall | null;
  readonly prepared: PreparedRequest;
  /** Those that it may go to, the preferred one first. */
  readonly upstreams: readonly RegisteredUpstream[];
  /** The API that it goes there by. */
  readonly api: UpstreamApi;
  /** Null when that is the API that the client speaks. */
  readonly translated: { readonly call: TranslatedCall; readonly refusal: Translation['refusal'] } | null;
}

/** One call on its way to the upstream and back, recorded where it belongs to an attempt. */
export class CallPassage {
  readonly #options: CallPassageOptions;

  constructor(options: CallPassageOptions) {
    this.#options = options;
  }

  /** Sends the call, and answers it. @throws GatewayError when it is not answered with the model's words */
  async answer(): Promise<CallAnswer> {
    const { result } = await this.send();
    return await this.answerWith(result);
  }

  /** Sends the call. @throws GatewayError when nobody answers; that is recorded */
  async send(): Promise<{ readonly result: UpstreamResult }> {
    const { parts, call, prepared, upstreams, api } = this.#options;
    try {
      const result = await callUpstream(parts.caller, upstreams, {
        path: api.path,
        method: 'POST',
        headers: call.forwardedHeaders,
        body: prepared.body,
        plainBody: prepared.plainBody,
        signal: call.signal,
        observation: call.observation,
      });
      return { result };
    } catch (error) {
      return this.#unanswered(error);
    }
  }

  /** Answers the call with what the upstream answered. @throws GatewayError when those are not the model's words */
  async answerWith(result: UpstreamResult): Promise<CallAnswer> {
    try {
      const { body, status } = result.answer;
      if (typeof body !== 'string') return this.#streamed(result, body);
      if (status >= 400) return this.#refused(result, body);
      return await this.#whole(result, body);
    } catch (error) {
      return this.#unanswered(error);
    }
  }

  async #whole(result: UpstreamResult, text: string): Promise<CallAnswer> {
    const { call, started, prepared, api, translated } = this.#options;
    const { status, headers } = result.answer;
    if (started === null && translated === null) {
      call.leave();
      return { status, headers, body: text };
    }
    const body = prepared.added.logprobs ? parseAnswer(text) : parseJsonObject(text);
    if (body === null) throw notJson(result);
    if (translated !== null && (isJsonObject(body.error) || typeof body.error === 'string')) throw saidError(result);
    const visible = api.visible(body, prepared.added);
    const visibleText = visible === body ? text : JSON.stringify(visible);
    if (started !== null) await this.#record(started, result, { body, visible, visibleText });
    const answer = translated === null ? { headers, body: visibleText } : this.#translated(translated.call, body);
    call.leave();
    return { status, headers: this.#headers({ ...headers, ...answer.headers }), body: answer.body };
  }

  #translated(call: TranslatedCall, body: JsonObject): Pick<CallAnswer, 'headers'> & { readonly body: string } {
    if (!this.#options.prepared.isStreamed) return { headers: {}, body: JSON.stringify(call.whole(body)) };
    return { headers: { 'content-type': 'text/event-stream' }, body: streamOfWhole(call.stream(), body) };
  }

  async #record(
    started: StartedCall,
    result: UpstreamResult,
    seen: { readonly body: JsonObject; readonly visible: JsonObject; readonly visibleText: string },
  ): Promise<void> {
    const { parts, prepared, api } = this.#options;
    const captured = newAnswer(result);
    api.capture(seen.body, captured);
    const isRecordedAsSeen = prepared.added.tokenIds && prepared.added.logprobs;
    const allTokens = { tokenIds: true, logprobs: true, usage: false };
    await parts.recorder.record(started, {
      ...this.#ended(captured, result),
      response: isRecordedAsSeen ? seen.visible : api.visible(seen.body, allTokens),
      ...(isRecordedAsSeen ? { responseText: seen.visibleText } : {}),
      firstByteTimeMs: result.answer.headTimeMs,
      failure: null,
    });
  }

  #streamed(result: UpstreamResult, body: UpstreamStream): CallAnswer {
    const { started, call, api, translated } = this.#options;
    const { status, headers } = result.answer;
    const { errorEvent } = api;
    const source =
      started === null && translated === null && errorEvent !== null
        ? new PassedStream(body, { address: result.upstream.baseUrl, errorEvent, onOver: () => this.#stop(body) })
        : this.#capturedStream(result, body);
    endWith(call.signal, source);
    return { status, headers: this.#headers(headers), body: source };
  }

  #capturedStream(result: UpstreamResult, body: UpstreamStream): CapturedStream {
    const { parts, call, prepared, started, api, translated } = this.#options;
    const captured = newAnswer(result);
    let firstByteTimeMs: number | null = null;
    const ended = (response: JsonObject, failure: string | null): EndedCall => ({
      ...this.#ended(captured, result),
      response,
      firstByteTimeMs,
      failure,
    });
    return new CapturedStream({
      body,
      stream:
        translated === null
          ? api.stream(captured, prepared.added)
          : new TranslatedAnswerStream(captured, translated.call.stream()),
      address: result.upstream.baseUrl,
      onFirstBytes: () => {
        firstByteTimeMs = parts.caller.clock.now();
      },
      onComplete: async (response) => {
        try {
          if (started !== null) await parts.recorder.record(started, ended(response, null));
        } finally {
          call.leave();
        }
      },
      onBroken: (failure, response) => {
        body.cancel();
        if (started !== null) parts.recorder.recordFailed(started, ended(response, failure));
        call.leave();
      },
    });
  }

  /** The upstream's own words about a bad request go to the agent as they are, but for a key they may repeat. */
  #refused(result: UpstreamResult, body: string): CallAnswer {
    const { status, headers } = result.answer;
    const text = result.upstream.withoutSecrets(body);
    const words = wordsOf(result);
    const failure = `the model endpoint answered ${status}${words}`;
    this.#recordFailure(failure, status);
    const { call, translated } = this.#options;
    call.leave();
    const said = words === '' ? failure : words.slice(': '.length);
    return {
      status,
      headers: translated === null ? headers : { ...headers, 'content-type': 'application/json' },
      body: translated === null ? text : translated.refusal(status, said),
    };
  }

  #stop(body: UpstreamStream): void {
    body.cancel();
    this.#options.call.leave();
  }

  #unanswered(error: unknown): never {
    this.#options.call.leave();
    const known = GatewayError.from(error);
    // The store has just refused a record; it need not be asked to record that.
    if (known.type !== 'store_unavailable') this.#recordFailure(known.message, null);
    throw known;
  }

  #recordFailure(failure: string, httpStatus: number | null): void {
    const { parts, started } = this.#options;
    if (started === null) return;
    const ended = this.#ended(new CapturedAnswer(), null);
    parts.recorder.recordFailed(started, { ...ended, response: null, firstByteTimeMs: null, httpStatus, failure });
  }

  #ended(
    answer: CapturedAnswer,
    result: UpstreamResult | null,
  ): Omit<EndedCall, 'response' | 'firstByteTimeMs' | 'failure'> {
    const { parts, prepared, translated } = this.#options;
    return {
      asked: prepared,
      answer,
      responseId: translated === null || result === null ? answer.responseId : translated.call.responseId,
      endTimeMs: parts.caller.clock.now(),
      httpStatus: result?.answer.status ?? null,
      upstream: result?.upstream ?? null,
    };
  }

  #headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const { started } = this.#options;
    return started === null ? headers : { ...headers, [callHeaders.spanId]: started.spanId };
  }
}

function newAnswer(result: UpstreamResult): CapturedAnswer {
  const captured = new CapturedAnswer();
  const version = result.answer.headers['x-agl-policy-version'];
  captured.addPolicyVersion(version !== undefined && /^\d+$/.test(version) ? Number(version) : null);
  return captured;
}

function notJson({ upstream, answer: { status } }: UpstreamResult): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${upstream.baseUrl} answered ${status} with something that is no JSON object`,
    remedy: 'Check that the upstream’s base URL is that of an OpenAI-compatible API, up to and with /v1.',
  });
}

/** Some vendors answer 200 with an error. */
function saidError(result: UpstreamResult): GatewayError {
  const { upstream, answer } = result;
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${upstream.baseUrl} answered ${answer.status} with an error${wordsOf(result)}`,
  });
}
