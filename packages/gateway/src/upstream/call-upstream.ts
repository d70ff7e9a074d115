import { type Clock, isJsonObject, parseJsonObject } from '@agentlightning/core';
import { GatewayError } from '../gateway-error.ts';
import type { GatewayLog, RetryOptions, Upstream } from '../gateway-options.ts';
import { textOf } from '../http/json-access.ts';
import { backoffMs, isRetryableStatus, parseRetryAfterMs } from './retry.ts';
import type { UpstreamAnswer, UpstreamClient, UpstreamRequest } from './upstream-client.ts';

/** What it takes to call an upstream. */
export interface UpstreamCaller {
  readonly client: UpstreamClient;
  readonly retry: RetryOptions;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: GatewayLog;
  /** Aborts when the gateway closes: nothing is tried again then. */
  readonly closing: AbortSignal;
}

/** The answer to a call, with its body read unless it is a stream of events. */
export interface UpstreamResult {
  readonly upstream: Upstream;
  readonly answer: UpstreamAnswer;
  /** The whole body; null when it is a stream of events, still to be read. */
  readonly text: string | null;
  /** When the head of the answer came, in Unix milliseconds. */
  readonly headTimeMs: number;
}

/** What a try came to when it did not succeed. */
interface Failure {
  readonly error: unknown;
  /** The answer, when there was a whole one. */
  readonly result: UpstreamResult | null;
}

/**
 * Calls the first upstream, and after failures the others in turn, with growing delays: connections that fail
 * or break, and statuses 408, 409, 429 and 5xx. An answer that is a stream is handed on as it begins.
 *
 * @param upstreams - at least one, the preferred one first
 * @returns any answer below 500, but for 401 and 403
 * @throws GatewayError 502 or 504, naming the upstream; 499 when the caller has gone; 503 when the gateway closes
 */
export async function callUpstream(
  caller: UpstreamCaller,
  upstreams: readonly Upstream[],
  request: UpstreamRequest,
): Promise<UpstreamResult> {
  for (let tries = 0; ; tries += 1) {
    const upstream = upstreams[tries % upstreams.length];
    if (upstream === undefined) throw failed('no upstream', 'none is registered', null);
    const outcome = await tryOnce(caller, upstream, request);
    if (!('error' in outcome)) return outcome;
    assertWanted(caller, request);
    const delayMs = retryDelayMs(caller, tries, outcome);
    if (delayMs === null) return giveUp(upstream, tries, outcome);
    caller.log.warn(
      { upstream: upstream.baseUrl, tries: tries + 1, delayMs, err: outcome.error },
      'a model call failed',
    );
    // A sleep that is cut short says so in the signals.
    await caller.clock.sleep(delayMs, AbortSignal.any([request.signal, caller.closing])).catch(() => undefined);
    assertWanted(caller, request);
  }
}

function assertWanted(caller: UpstreamCaller, request: UpstreamRequest): void {
  const unwanted = { code: 'CANCELLED', type: 'cancelled' } as const;
  if (request.signal.aborted) {
    throw new GatewayError({ ...unwanted, httpStatus: 499, message: 'the caller hung up before the answer came' });
  }
  if (caller.closing.aborted) {
    const remedy = 'Make the call again when the gateway is back.';
    throw new GatewayError({ ...unwanted, httpStatus: 503, message: 'the gateway is closing', remedy });
  }
}

async function tryOnce(
  caller: UpstreamCaller,
  upstream: Upstream,
  request: UpstreamRequest,
): Promise<UpstreamResult | Failure> {
  try {
    const answer = await caller.client.send(upstream, request);
    const headTimeMs = caller.clock.now();
    const isStream = answer.status < 300 && answer.headers['content-type']?.startsWith('text/event-stream') === true;
    const text = isStream ? null : await answer.body.text();
    const result = { upstream, answer, text, headTimeMs };
    return isRetryableStatus(answer.status) ? { error: `it answered ${answer.status}`, result } : checked(result);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    return { error, result: null };
  }
}

/** The gateway's own key is what such an upstream refuses; its words may repeat the key, so they go no further. */
function checked(result: UpstreamResult): UpstreamResult {
  const { status } = result.answer;
  if (status === 401 || status === 403) {
    throw failed(result.upstream.baseUrl, `refused the gateway's key with ${status}`, null);
  }
  if (status >= 300 && status < 400) throw failed(result.upstream.baseUrl, `redirects with ${status}`, null);
  return result;
}

/** Null when there is no point in another try. */
function retryDelayMs(caller: UpstreamCaller, tries: number, failure: Failure): number | null {
  if (tries >= caller.retry.maxRetries || isTimeout(failure.error)) return null;
  const header = failure.result?.answer.headers['retry-after'] ?? null;
  const retryAfterMs = parseRetryAfterMs(header, caller.clock.now());
  if (retryAfterMs === null) return backoffMs(caller.retry, tries, caller.random());
  return retryAfterMs <= caller.retry.maxRetryAfterMs ? retryAfterMs : null;
}

function giveUp(upstream: Upstream, tries: number, failure: Failure): UpstreamResult {
  const { result, error } = failure;
  if (result !== null && result.answer.status < 500) return result;
  const times = tries === 0 ? 'at the first try' : `after ${tries + 1} tries`;
  if (result !== null)
    throw failed(upstream.baseUrl, `answered ${result.answer.status} ${times}${wordsOf(result)}`, error);
  if (isTimeout(error)) {
    throw new GatewayError({
      code: 'TIMEOUT',
      httpStatus: 504,
      type: 'upstream_error',
      message: `the model endpoint ${upstream.baseUrl} was silent for too long`,
      remedy: 'Raise the gateway option `upstreamTimeoutMs`, or find out what hangs.',
      cause: error,
    });
  }
  throw failed(upstream.baseUrl, `could not be reached ${times}: ${describe(error)}`, error);
}

/** What the upstream itself says was wrong, in OpenAI's form; without the key, which it may repeat. */
function wordsOf({ upstream, text }: UpstreamResult): string {
  const error = parseJsonObject(text ?? '')?.error;
  const words = isJsonObject(error) ? textOf(error.message) : null;
  if (words === null || words === '') return '';
  return `: ${upstream.apiKey ? words.replaceAll(upstream.apiKey, '***') : words}`;
}

function failed(address: string, what: string, cause: unknown): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${address} ${what}`,
    cause,
  });
}

function isTimeout(error: unknown): boolean {
  return hasCode(error) && (error.code === 'UND_ERR_HEADERS_TIMEOUT' || error.code === 'UND_ERR_BODY_TIMEOUT');
}

function describe(error: unknown): string {
  // A refused connection to several addresses of a name has no message, only a code.
  if (hasCode(error)) return error.message === '' ? error.code : error.message;
  return error instanceof Error ? error.message : String(error);
}

function hasCode(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}
