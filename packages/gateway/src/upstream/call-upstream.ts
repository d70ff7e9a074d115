import type { Readable } from 'node:stream';
import type { Clock } from '@agentlightning/core';
import { GatewayError } from '../gateway-error.ts';
import type { GatewayLog, RetryOptions } from '../gateway-options.ts';
import type { GatewayMetrics } from '../observe/gateway-metrics.ts';

import { enterUpstream, type UpstreamPlace } from './enter-upstream.ts';
import type { HealthChecker } from './health-checks.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';
import { backoffMs, isRetryableStatus, parseRetryAfterMs } from './retry.ts';
import type { UpstreamClient, UpstreamRequest, UpstreamResponse } from './upstream-client.ts';
import {
  describeFailure,
  isSilence,
  refusesTokens,
  upstreamFailed,
  upstreamSilent,
  wordsOf,
} from './upstream-failure.ts';

/** What it takes to call an upstream. */
export interface UpstreamCaller {
  readonly client: UpstreamClient;
  readonly health: HealthChecker;
  readonly retry: RetryOptions;
  /** How long a call may wait in line for an upstream, in milliseconds. */
  readonly queueTimeoutMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: GatewayLog;
  readonly metrics: Pick<GatewayMetrics, 'upstreamTried' | 'retried'>;
  /** Aborts when the gateway closes: nothing is tried again then. */
  readonly closing: AbortSignal;
}

/** The answer to a call, with its body read unless it is a stream of events. */
export interface UpstreamResult {
  readonly upstream: RegisteredUpstream;
  readonly response: UpstreamResponse;
  /** The whole body; null when it is a stream of events, still to be read. */
  readonly text: string | null;
}

/** What a try came to when it did not succeed. */
interface Failure {
  readonly upstream: RegisteredUpstream;
  readonly error: unknown;
  /** The answer, when there was a whole one. */
  readonly result: UpstreamResult | null;
}

/**
 * Calls the first upstream, and after failures the others in turn, with growing delays: connections that fail
 * or break, and statuses 408, 409, 429 and 5xx. An answer that is a stream is handed on as it begins; after that,
 * nothing is tried again.
 *
 * @param upstreams - at least one, the preferred one first
 * @returns any answer below 500, but for 401 and 403
 * @throws GatewayError 502 or 504, naming the upstream; 429 when it has too many calls; 499 when the caller has gone;
 * 503 when the gateway closes
 */
export async function callUpstream(
  caller: UpstreamCaller,
  upstreams: readonly RegisteredUpstream[],
  request: UpstreamRequest,
): Promise<UpstreamResult> {
  const startMs = caller.clock.now();
  try {
    return await tryInTurn(caller, upstreams, request);
  } finally {
    if (request.observation !== null) request.observation.upstreamMs += caller.clock.now() - startMs;
  }
}

async function tryInTurn(
  caller: UpstreamCaller,
  upstreams: readonly RegisteredUpstream[],
  request: UpstreamRequest,
): Promise<UpstreamResult> {
  for (let tries = 0; ; tries += 1) {
    const first = tries % upstreams.length;
    const place = await placeFor(caller, [...upstreams.slice(first), ...upstreams.slice(0, first)], request);
    const outcome = await tryOnce(caller, place, request);
    if (!('error' in outcome)) return outcome;
    assertWanted(caller, request);
    const { upstream } = outcome;
    const delayMs = retryDelayMs(caller, tries, outcome);
    if (delayMs === null) return giveUp(tries, outcome);
    const requestId = request.observation?.requestId;
    caller.metrics.retried(upstream.id);
    caller.log.warn(
      { requestId, upstream: upstream.id, tries: tries + 1, delayMs, err: outcome.error },
      'a try failed',
    );
    // A sleep that is cut short says so in the signals.
    await caller.clock.sleep(delayMs, AbortSignal.any([request.signal, caller.closing])).catch(() => undefined);
    assertWanted(caller, request);
  }
}

async function placeFor(
  caller: UpstreamCaller,
  upstreams: readonly RegisteredUpstream[],
  { observation, signal }: UpstreamRequest,
): Promise<UpstreamPlace> {
  const key = observation?.attempt?.rolloutId ?? '';
  const place = await enterUpstream(upstreams, {
    clock: caller.clock,
    timeoutMs: caller.queueTimeoutMs,
    key,
    signal,
  }).catch((error: unknown) => {
    throw signal.aborted ? notWanted(signal.reason) : error;
  });
  if (observation !== null) {
    observation.tries += 1;
    observation.upstream = place.upstream.id;
  }
  return place;
}

function assertWanted(caller: UpstreamCaller, request: UpstreamRequest): void {
  if (request.signal.aborted) throw notWanted(request.signal.reason);
  if (!caller.closing.aborted) return;
  throw new GatewayError({
    code: 'CANCELLED',
    type: 'cancelled',
    httpStatus: 503,
    message: 'the gateway is closing',
    remedy: 'Make the call again when the gateway is back.',
  });
}

/** What the caller is told; nobody listens when it has gone. */
function notWanted(reason: unknown): GatewayError {
  if (reason instanceof GatewayError) return reason;
  return new GatewayError({
    code: 'CANCELLED',
    type: 'cancelled',
    httpStatus: 499,
    message: 'the caller hung up before the answer came',
  });
}

async function tryOnce(
  caller: UpstreamCaller,
  { upstream, leave }: UpstreamPlace,
  request: UpstreamRequest,
): Promise<UpstreamResult | Failure> {
  let stream: Readable | null = null;
  try {
    const result = await requested(caller, upstream, request);
    if (typeof result.response.body !== 'string') stream = result.response.body;
    if (!isRetryableStatus(result.response.status)) return checked(caller, result);
    if (result.response.status >= 500) caller.health.failed(upstream, `it answered ${result.response.status}`);
    return { upstream, error: `it answered ${result.response.status}`, result };
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    if (!request.signal.aborted && !caller.closing.aborted) caller.health.failed(upstream, describeFailure(error));
    return { upstream, error, result: null };
  } finally {
    // A stream holds its slot until it is read to its end or destroyed.
    if (stream === null || stream.closed) leave();
    else stream.once('close', leave);
  }
}

/** Asks again without token ids, and never for them again, where an upstream refuses a request because of them. */
async function requested(
  caller: UpstreamCaller,
  upstream: RegisteredUpstream,
  request: UpstreamRequest,
): Promise<UpstreamResult> {
  const isPlain = upstream.capture === 'text' && request.plainBody !== null;
  const result = await send(caller, upstream, isPlain ? withPlainBody(request) : request);
  if (isPlain || request.plainBody === null || !refusesTokens(result)) return result;
  const plain = await send(caller, upstream, withPlainBody(request));
  if (plain.response.status >= 300) return result;
  upstream.tokenSupport = 'refused';
  const message = 'a model endpoint refuses to tell token ids; its calls cannot be trained on';
  caller.log.warn({ upstream: upstream.id, answered: wordsOf(result) }, message);
  return plain;
}

function withPlainBody(request: UpstreamRequest): UpstreamRequest {
  return { ...request, body: request.plainBody?.() ?? request.body };
}

async function send(
  caller: UpstreamCaller,
  upstream: RegisteredUpstream,
  request: UpstreamRequest,
): Promise<UpstreamResult> {
  const { clock, metrics, client } = caller;
  const startMs = clock.now();
  let outcome: number | 'error' = 'error';
  try {
    const response = await client.send(upstream, request);
    const text = typeof response.body === 'string' ? response.body : null;
    if (request.observation !== null) {
      request.observation.upstreamRequestId = response.requestId;
      request.observation.isStreamed = text === null;
    }
    outcome = response.status;
    return { upstream, response, text };
  } finally {
    metrics.upstreamTried({ upstream: upstream.id, outcome, durationMs: clock.now() - startMs });
  }
}

/** The gateway's own key is what such an upstream refuses; its words may repeat the key, so they go no further. */
function checked(caller: UpstreamCaller, result: UpstreamResult): UpstreamResult {
  const { status } = result.response;
  const { upstream } = result;
  if (status === 401 || status === 403) {
    caller.health.failed(upstream, `it refused the gateway's key with ${status}`);
    throw upstreamFailed(upstream.baseUrl, `refused the gateway's key with ${status}`, null);
  }
  if (status >= 300 && status < 400) throw upstreamFailed(upstream.baseUrl, `redirects with ${status}`, null);
  caller.health.succeeded(upstream);
  return result;
}

/** Null when there is no point in another try. */
function retryDelayMs(caller: UpstreamCaller, tries: number, failure: Failure): number | null {
  if (tries >= caller.retry.maxRetries || isSilence(failure.error)) return null;
  const header = failure.result?.response.headers['retry-after'] ?? null;
  const retryAfterMs = parseRetryAfterMs(header, caller.clock.now());
  if (retryAfterMs === null) return backoffMs(caller.retry, tries, caller.random());
  return retryAfterMs <= caller.retry.maxRetryAfterMs ? retryAfterMs : null;
}

function giveUp(tries: number, { upstream, result, error }: Failure): UpstreamResult {
  if (result !== null && result.response.status < 500) return result;
  const times = tries === 0 ? 'at the first try' : `after ${tries + 1} tries`;
  if (result !== null) {
    throw upstreamFailed(upstream.baseUrl, `answered ${result.response.status} ${times}${wordsOf(result)}`, error);
  }
  if (isSilence(error)) throw upstreamSilent(upstream.baseUrl, error);
  throw upstreamFailed(upstream.baseUrl, `could not be reached ${times}: ${describeFailure(error)}`, error);
}
