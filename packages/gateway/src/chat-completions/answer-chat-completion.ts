import { CapturedAnswer, isJsonObject, type JsonObject, parseJsonObject } from '@agentlightning/core';
import { callHeaders, type EndedCall, type StartedCall, startCall } from '../capture/call-recorder.ts';
import { GatewayError } from '../gateway-error.ts';
import type { GatewayParts, IncomingCall } from '../gateway-parts.ts';
import { textOf } from '../http/json-access.ts';
import { PassedStream } from '../http/passed-stream.ts';
import { pulledStream } from '../http/pulled-stream.ts';
import { callUpstream, type UpstreamResult } from '../upstream/call-upstream.ts';
import { CapturedStream } from './captured-stream.ts';
import { type PreparedRequest, prepareRequest } from './prepared-request.ts';
import { visibleAnswer } from './visible-answer.ts';

/** A call on its way through the gateway. */
interface Passage {
  readonly parts: GatewayParts;
  readonly call: IncomingCall;
  /** Null for a call that is not recorded. */
  readonly started: StartedCall | null;
  readonly prepared: PreparedRequest;
  /** Ends the request to the upstream. */
  readonly upstreamAbort: AbortController;
}

/**
 * Answers a Chat Completions request, streamed or not, and records it when it belongs to an attempt.
 *
 * @throws GatewayError when it is not answered with the model's words
 */
export async function answerChatCompletion(parts: GatewayParts, call: IncomingCall): Promise<Response> {
  const startTimeMs = parts.caller.clock.now();
  const request = parseJsonObject(call.text);
  if (request === null) throw badBody();
  const attempt = call.attempt === null ? null : await parts.directory.find(call.attempt);
  const upstreams = parts.pool.choose(textOf(request.model), attempt?.rolloutId ?? null);
  const [upstream] = upstreams;
  if (upstream === undefined) throw badBody();
  const sampling = (attempt?.mode && parts.sampling[attempt.mode]) || {};
  const prepared = prepareRequest(request, { upstream, attempt, sampling });
  call.observation.model = prepared.model;
  const started =
    attempt === null ? null : startCall({ attempt, request, requestText: call.text, startTimeMs }, call.headers);
  const upstreamAbort = new AbortController();
  call.signal.addEventListener('abort', () => upstreamAbort.abort(call.signal.reason), { once: true });
  if (call.signal.aborted) upstreamAbort.abort(call.signal.reason);
  const passage: Passage = { parts, call, started, prepared, upstreamAbort };
  try {
    const result = await callUpstream(parts.caller, upstreams, {
      path: '/chat/completions',
      method: 'POST',
      headers: call.forwardedHeaders,
      body: prepared.body,
      plainBody: prepared.plainBody,
      signal: upstreamAbort.signal,
      observation: call.observation,
    });
    return await answer(passage, result);
  } catch (error) {
    return unanswered(passage, error);
  }
}

function answer(passage: Passage, result: UpstreamResult): Promise<Response> | Response {
  const { status, headers } = result.answer;
  if (result.text === null) return streamed(passage, result);
  if (status >= 400) return refused(passage, result, result.text);
  if (passage.started === null) {
    passage.call.leave();
    return new Response(result.text, { status, headers });
  }
  return whole(passage, passage.started, { ...result, text: result.text });
}

async function whole(
  { parts, call, prepared }: Passage,
  started: StartedCall,
  result: UpstreamResult & { readonly text: string },
): Promise<Response> {
  const { status, headers } = result.answer;
  const body = parseJsonObject(result.text);
  if (body === null) throw notJson(result);
  const captured = newAnswer(result);
  captured.add(body);
  const visible = visibleAnswer(body, prepared.added);
  const visibleText = visible === body ? result.text : JSON.stringify(visible);
  const isRecordedAsSeen = prepared.added.tokenIds && prepared.added.logprobs;
  await parts.recorder.record(started, {
    asked: prepared,
    answer: captured,
    response: isRecordedAsSeen ? visible : visibleAnswer(body, { tokenIds: true, logprobs: true, usage: false }),
    ...(isRecordedAsSeen ? { responseText: visibleText } : {}),
    firstByteTimeMs: result.headTimeMs,
    endTimeMs: parts.caller.clock.now(),
    httpStatus: status,
    failure: null,
    upstream: result.upstream,
  });
  call.leave();
  return new Response(visibleText, { status, headers: { ...headers, [callHeaders.spanId]: started.spanId } });
}

function streamed(passage: Passage, result: UpstreamResult): Response {
  const { started, call, upstreamAbort } = passage;
  const { status, headers, body } = result.answer;
  const address = result.upstream.baseUrl;
  if (started === null) {
    const onOver = (): void => {
      upstreamAbort.abort();
      call.leave();
    };
    return new Response(pulledStream(new PassedStream(body, address, onOver)), { status, headers });
  }
  const source = capturedStream(passage, started, result);
  call.signal.addEventListener('abort', () => source.cancelled(), { once: true });
  return new Response(pulledStream(source), { status, headers: { ...headers, [callHeaders.spanId]: started.spanId } });
}

function capturedStream(passage: Passage, started: StartedCall, result: UpstreamResult): CapturedStream {
  const { parts, call, prepared, upstreamAbort } = passage;
  const captured = newAnswer(result);
  let firstByteTimeMs: number | null = null;
  const ended = (response: JsonObject, failure: string | null): EndedCall => ({
    asked: prepared,
    answer: captured,
    response,
    firstByteTimeMs,
    endTimeMs: parts.caller.clock.now(),
    httpStatus: result.answer.status,
    failure,
    upstream: result.upstream,
  });
  return new CapturedStream({
    body: result.answer.body,
    answer: captured,
    added: prepared.added,
    address: result.upstream.baseUrl,
    onFirstBytes: () => {
      firstByteTimeMs = parts.caller.clock.now();
    },
    onComplete: (response) => parts.recorder.record(started, ended(response, null)).finally(call.leave),
    onBroken: (failure, response) => {
      upstreamAbort.abort();
      parts.recorder.recordFailed(started, ended(response, failure));
      call.leave();
    },
  });
}

/** The upstream's own words about a bad request go to the agent as they are, but for a key they may repeat. */
function refused(passage: Passage, result: UpstreamResult, body: string): Response {
  const { status, headers } = result.answer;
  const text = result.upstream.withoutSecrets(body);
  const error = parseJsonObject(text)?.error;
  const words = isJsonObject(error) ? (textOf(error.message) ?? '') : '';
  recordFailure(passage, `the model endpoint answered ${status}: ${words}`, status);
  passage.call.leave();
  return new Response(text, { status, headers });
}

function unanswered(passage: Passage, error: unknown): never {
  passage.call.leave();
  const known = GatewayError.from(error);
  // The store has just refused a record; it need not be asked to record that.
  if (known.type !== 'store_unavailable') recordFailure(passage, known.message, null);
  throw known;
}

function recordFailure({ parts, started, prepared }: Passage, failure: string, httpStatus: number | null): void {
  if (started === null) return;
  parts.recorder.recordFailed(started, {
    asked: prepared,
    answer: new CapturedAnswer(),
    response: null,
    firstByteTimeMs: null,
    endTimeMs: parts.caller.clock.now(),
    httpStatus,
    failure,
    upstream: null,
  });
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

function badBody(): GatewayError {
  return new GatewayError({
    code: 'VALIDATION',
    httpStatus: 400,
    type: 'invalid_request_error',
    message: 'the request body is not a JSON object',
    remedy: 'Send the body of a Chat Completions request: { "model": …, "messages": […] }.',
  });
}
